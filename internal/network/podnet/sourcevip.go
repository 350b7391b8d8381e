package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/spec"
)

// sourceVIPFile holds host-local.exe's answer for kube-proxy's source VIP, below the host's drive, where SIG Windows'
// scripts have it
// (https://github.com/kubernetes-sigs/sig-windows-tools/blob/master/hostprocess/flannel/kube-proxy/start.ps1).
const sourceVIPFile = "k/sourceVip.json"

// SourceVIP returns the address on the overlay that kube-proxy.exe gives as source to packets of a Service for another
// host. drive is the host's C: on this machine. The error is os.ErrNotExist until the host has its range of pod
// addresses.
func SourceVIP(drive string) (netip.Addr, error) {
	data, err := os.ReadFile(filepath.Join(drive, filepath.FromSlash(sourceVIPFile)))
	if err != nil {
		return netip.Addr{}, err
	}
	return addressIn(data)
}

// addressIn returns the only address in an IPAM plugin's answer.
func addressIn(answer []byte) (netip.Addr, error) {
	var result struct {
		IPs []struct{ Address netip.Prefix } `json:"ips"`
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return netip.Addr{}, fmt.Errorf("read the source VIP: %w", err)
	}
	if len(result.IPs) != 1 {
		return netip.Addr{}, fmt.Errorf("read the source VIP: %d addresses", len(result.IPs))
	}
	return result.IPs[0].Address.Addr(), nil
}

// ensureSourceVIP reserves the source VIP with host-local.exe, as if it were a pod's, so that no pod gets it.
func (p *ownPlugin) ensureSourceVIP(ctx context.Context, cidr netip.Prefix) error {
	vip, err := SourceVIP(p.cfg.Drive)
	if err == nil && cidr.Contains(vip) {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	conf := map[string]any{"cniVersion": "1.0.0", "name": NetworkName(spec.ModeOverlay), "ipam": p.ipam(cidr)}
	stdin, err := json.Marshal(conf)
	if err != nil {
		return err
	}
	// DEL first: a crash may have come between ADD and the file.
	var answer []byte
	for _, command := range []string{"DEL", "ADD"} {
		answer, err = p.cni.plugins.ExecPlugin(ctx, BinDir+`\host-local.exe`, stdin, []string{
			"CNI_COMMAND=" + command, "CNI_CONTAINERID=source-vip", "CNI_NETNS=source-vip", "CNI_IFNAME=source-vip",
			"CNI_PATH=" + BinDir,
		})
		if err != nil {
			return fmt.Errorf("reserve the source VIP in %s: %w", cidr, err)
		}
	}
	if _, err := addressIn(answer); err != nil {
		return err
	}
	return writeFile(filepath.Join(p.cfg.Drive, filepath.FromSlash(sourceVIPFile)), answer)
}
