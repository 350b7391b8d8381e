package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/clusterdns"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// outsideName is no DNS label, so no node has it.
const outsideName = "net.test"

// takesTestServices returns an error where a cluster of that version refuses the test's Services, or does not do with
// them what the test expects.
func takesTestServices(kubernetes string) error {
	if version.MinorOf(kubernetes) >= version.MixedProtocols {
		return nil
	}
	return fmt.Errorf("test the network of a cluster of Kubernetes %s: the test's Services (of type LoadBalancer for "+
		"TCP and UDP, with an internal traffic policy) are for 1.%d and later", kubernetes, version.MixedProtocols)
}

// NetTest runs the network tests on the cluster that is up. Step and Done of cfg are the caller's; the rest is filled
// in. It puts a place outside of the cluster on the underlay, and removes it again.
func NetTest(ctx context.Context, paths layout.Paths, cfg nettest.Config) (report nettest.Report, err error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return report, err
	}
	if err := takesTestServices(c.KubernetesVersion); err != nil {
		return report, err
	}
	p, err := NewPlan(c, paths)
	if err != nil {
		return report, err
	}

	u, err := newUnderlay(p)
	if err != nil {
		return report, err
	}
	defer interrupt.Finishing(ctx)() // pods and Services are removed
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()

	unlock, err := lockNetTest(paths)
	if err != nil {
		return report, err
	}

	undo.Add(unlock)
	cfg.Mode = c.Networking.Mode
	cfg.Profile = c.Networking.Profile
	cfg.Domain = spec.ClusterDomain
	cfg.Image = nettest.Image
	cfg.LinuxImage, cfg.DNS = nettest.LinuxImage, p.APIServer.Addr()
	if cfg.REST, err = clientcmd.BuildConfigFromFlags("", paths.AdminKubeconfig()); err != nil {
		return report, err
	}

	cfg.REST.WarningHandler = rest.NoWarnings{} // the warning that external IPs are deprecated is known
	cfg.REST.QPS, cfg.REST.Burst = 50, 100
	if cfg.Client, err = kubeclient.NewForConfig(cfg.REST); err != nil {
		return report, err
	}

	bothFirst(&p)
	cfg.Nodes = testNodes(p, u.HostNetns)
	place, err := placeOutside(p)
	if err != nil {
		return report, err
	}

	undo.Add(func() error { return u.RemoveOutside(context.WithoutCancel(ctx), place) })
	if err := u.AddOutside(ctx, place); err != nil {
		return report, err
	}

	cfg.Outside = nettest.Outside{
		Netns:    u.HostNetns(place.Name),
		Address:  place.Address,
		Address6: place.Address6,
	}
	undo.Add(func() error { return clusterdns.RemoveZone(paths.DNSZones(), nettest.Zone) })
	if err := clusterdns.WriteZone(paths.DNSZones(), clusterdns.Zone{
		Name:    nettest.Zone,
		Servers: []netip.Addr{place.Address},
	}); err != nil {
		return report, err
	}

	return nettest.Run(ctx, cfg)
}

// bothFirst sorts nodes with IPv4 and IPv6 first: the tests use the first nodes.
func bothFirst(p *Plan) {
	slices.SortStableFunc(p.Hosts, func(a, b Host) int {
		switch a, b := a.Address6.IsValid(), b.Address6.IsValid(); {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	})
}

func testNodes(p Plan, pin func(host string) string) []nettest.Node {
	var nodes []nettest.Node
	for _, h := range p.Hosts {
		if h.Bare {
			continue // whether it is a node is a person's business
		}

		nodes = append(nodes, nettest.Node{
			Name:       h.Name,
			OS:         h.OS,
			Address:    h.Address,
			Address6:   h.Address6,
			Netns:      pin(h.Name),
			Server2022: h.Build.Supports(winver.SessionAffinity) || p.Spec.Networking.Profile == spec.ProfileModern,
		})
	}

	for _, h := range p.LinuxHosts {
		if h.Bare {
			continue
		}

		nodes = append(nodes, nettest.Node{
			Name:     h.Name,
			OS:       h.OS,
			Address:  h.Address,
			Address6: h.Address6,
			Netns:    pin(h.Name),
		})
	}

	return nodes
}

// placeOutside puts the place outside at the last free address of the underlay. It sends what is for load balancers to
// the first Windows node.
func placeOutside(p Plan) (underlay.Outside, error) {
	subnet := p.Spec.Networking.Underlay()
	o := underlay.Outside{Name: outsideName, Far: []netip.Addr{nettest.FarAddress()}}
	dual := p.Spec.Networking.DualStack()
	if dual {
		o.Far = append(o.Far, nettest.FarAddress6())
	}

	taken := map[netip.Addr]bool{p.APIServer.Addr(): true}
	for _, h := range p.LinuxHosts {
		taken[h.Address] = true
	}

	for _, h := range p.Hosts {
		taken[h.Address] = true
		if len(o.Routes) == 0 && !h.Bare {
			for _, a := range nettest.ExternalAddresses() {
				via := h.Address
				if a.Is6() {
					via = h.Address6
				}
				if via.IsValid() {
					o.Routes = append(o.Routes, underlay.Route{CIDR: netip.PrefixFrom(a, a.BitLen()), Via: via})
				}
			}
		}
	}

	for a := nth(subnet.Addr(), 250); subnet.Contains(a); a = a.Prev() {
		if !taken[a] {
			o.Address = a
			if dual {
				var err error
				o.Address6, err = spec.Address6(subnet, p.Spec.Networking.Underlay6(), a)
				return o, err
			}
			return o, nil
		}
	}

	return o, fmt.Errorf("place the world outside of the cluster: every address of the underlay %s is taken", subnet)
}

// lockNetTest keeps two runs from working on one cluster at the same time.
func lockNetTest(paths layout.Paths) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(paths.Run(), "net-test.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&ConflictError{
			Err:    errors.New("another `mullion net test` runs on this cluster"),
			Remedy: "wait until it has ended",
		}, f.Close())
	}
	return f.Close, nil
}
