package podnet

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unicode/utf16"

	"mullion.dev/mullion/internal/base/beneath"
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
	data, err := beneath.ReadIn(drive, sourceVIPFile, maxFile)
	if err != nil {
		return netip.Addr{}, err
	}
	return addressIn(data)
}

// addressIn returns the only address in an IPAM plugin's answer, in the form of CNI 0.3 and later or, as SIG Windows'
// scripts ask for it, of CNI 0.2 (https://github.com/containernetworking/cni/blob/spec-v0.2.0/SPEC.md#result).
func addressIn(answer []byte) (netip.Addr, error) {
	var result struct {
		IPs []struct{ Address netip.Prefix } `json:"ips"`
		IP4 struct{ IP netip.Prefix }        `json:"ip4"`
	}
	if err := json.Unmarshal(plain(answer), &result); err != nil {
		return netip.Addr{}, fmt.Errorf("read the source VIP: %w", err)
	}

	if result.IP4.IP.IsValid() {
		return result.IP4.IP.Addr(), nil
	}
	if len(result.IPs) != 1 {
		return netip.Addr{}, fmt.Errorf("read the source VIP: %d addresses", len(result.IPs))
	}
	return result.IPs[0].Address.Addr(), nil
}

// plain returns a text as UTF-8 without a byte order mark: Windows PowerShell's Out-File writes UTF-16LE with one.
func plain(text []byte) []byte {
	if rest, ok := bytes.CutPrefix(text, []byte{0xff, 0xfe}); ok {
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(rest[2*i:])
		}
		return []byte(string(utf16.Decode(units)))
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
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

	return writeOf(p.cfg.Drive, sourceVIPFile, answer)
}
