package winnode

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/node/nodeconfig"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// ProxyArgs returns kube-proxy's flags. Only an overlay has a source VIP.
func (c Config) ProxyArgs(sourceVIP netip.Addr) []string {
	args := nodeconfig.WindowsProxyArgs(podnet.NetworkName(c.Network.Mode), spec.JoinSubnets(c.PodSubnet, c.PodSubnet6))
	if c.EnableDSR {
		args = append(args, "--enable-dsr=true")
		if version.MinorOf(c.Version) < version.DSRByDefault {
			args = append(args, "--feature-gates=WinDSR=true")
		}
	}
	if sourceVIP.IsValid() {
		args = append(args, "--source-vip="+sourceVIP.String(), "--bind-address="+c.Address.String())
	}
	return c.node().ProxyArgs("kernelspace", args...)
}

// sourceVIPTimeout bounds the wait for the node's range of pod addresses.
const sourceVIPTimeout = 3 * time.Minute

// sourceVIP waits until the host has reserved its source VIP, which follows from the node's range of pod addresses.
// Without it kube-proxy ends on an overlay; in other modes there is none. Where others make the overlay, the source VIP
// is what they have written, none until then.
func (c Config) sourceVIP(ctx context.Context) (netip.Addr, error) {
	if c.Network.Mode != spec.ModeOverlay {
		return netip.Addr{}, nil
	}
	if c.overlayOfOthers() {
		return c.writtenVIP(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, sourceVIPTimeout)
	defer cancel()

	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	for {
		vip, err := podnet.SourceVIP(c.drive())
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return vip, err
		}
		select {
		case <-ctx.Done():
			return netip.Addr{}, fmt.Errorf("wait for the source VIP of host %q: %w", c.Name, ctx.Err())
		case <-tick.C:
		}
	}
}

// overlayOfOthers reports whether the host's network is an overlay that somebody else makes.
func (c Config) overlayOfOthers() bool { return c.Network.NoCNI && c.Network.Mode == spec.ModeOverlay }

// writtenVIP returns the source VIP that others have written on the host. It is not valid if there is none, or none
// that can be read: the file may be half written.
func (c Config) writtenVIP() netip.Addr {
	vip, err := podnet.SourceVIP(c.drive())
	if err != nil {
		return netip.Addr{}
	}
	return vip
}

// proxyUnit returns the unit of upstream's kube-proxy.exe. It waits by itself until the node has its range of pod
// addresses, and with that an HNS network.
func (c Config) proxyUnit() component.Component {
	return c.service(kubenode.KubeProxy, c.node().KubeProxy(c.proxySpec(), c.lacksNetwork), c.named)
}

// proxySpec returns how kube-proxy.exe is started. Where others make the overlay, it waits for their network without a
// source VIP, and is started again when they have written that, or another.
func (c Config) proxySpec() proc.Spec {
	var vip netip.Addr // that it was started with; one start comes after the other
	s := c.upstream(kubenode.KubeProxy, func(ctx context.Context) ([]string, error) {
		var err error
		vip, err = c.sourceVIP(ctx)
		return c.ProxyArgs(vip), err
	})
	if !c.overlayOfOthers() {
		return s
	}

	start := s.Starter
	s.Starter = func(ctx context.Context, cmd *exec.Cmd) error {
		if err := start(ctx, cmd); err != nil {
			return err
		}
		go c.endWhenVIPChanges(ctx, vip, cmd.Process)
		return nil
	}

	return s
}

// endWhenVIPChanges asks the process that keeps kube-proxy.exe to end when another source VIP is written than that
// with which it was started. It returns when it has, or when the process is gone or ctx is over.
func (c Config) endWhenVIPChanges(ctx context.Context, started netip.Addr, process *os.Process) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		if vip := c.writtenVIP(); vip.IsValid() && vip != started {
			_ = process.Signal(syscall.SIGTERM) // it may have ended by itself
			return
		}
		if process.Signal(syscall.Signal(0)) != nil {
			return
		}
	}
}

// lacksNetwork reports whether the host's network is for somebody else to install, who has not done so yet. kube-proxy
// waits for it then, and nobody waits for kube-proxy.
func (c Config) lacksNetwork() bool {
	return c.Network.NoCNI && (!podnet.Configured(c.drive()) || (c.overlayOfOthers() && !c.writtenVIP().IsValid()))
}
