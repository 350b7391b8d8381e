package podnet_test

import (
	"context"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/network/podnet"
)

// host is an HNS without a data plane.
type host struct{ *hns.Model }

func (h host) Call(_ context.Context, r hns.Request) (hns.Reply, error) {
	reply, err := h.Model.Call(r)
	if err == nil {
		h.Commit()
	}
	return reply, err
}

func newHost(version wire.Version) host {
	return host{hns.New(hns.Config{
		Version:   version,
		Adapters:  []string{"eth0"},
		Addresses: []netip.Addr{netip.MustParseAddr("10.213.0.11")},
	})}
}

func prefixes(t *testing.T, list ...string) []netip.Prefix {
	t.Helper()
	var all []netip.Prefix
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func open(t *testing.T, h host, dir string, dual bool) *podnet.Network {
	t.Helper()
	n, err := podnet.New(podnet.Config{
		HNS:       h,
		DualStack: dual,
		Drive:     filepath.Join(dir, "c"),
		PinDir:    filepath.Join(dir, "pins"),
		CacheDir:  filepath.Join(dir, "cni"),
		Local:     prefixes(t, "10.244.0.0/16", "fd00:244::/32"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func setup(t *testing.T, n *podnet.Network, id string, ports ...podnet.PortMapping) string {
	t.Helper()
	r, err := n.Setup(t.Context(), podnet.Pod{
		ID:        id,
		Name:      id,
		Namespace: "default",
		Ports:     ports,
	})
	if err != nil {
		t.Fatal(err)
	}

	var all []string
	for _, ip := range r.IPs {
		all = append(all, ip.String())
	}

	return strings.Join(all, " ")
}

func TestDualStack(t *testing.T) {
	h, dir := newHost(wire.Version{Major: 13, Minor: 2}), t.TempDir()
	n := open(t, h, dir, true)
	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...); err == nil ||
		!strings.Contains(err.Error(), "IPv6") {
		t.Errorf("a dual-stack node with a range of IPv4 alone: %v", err)
	}

	ranges := prefixes(t, "10.244.1.0/24", "fd00:244:0:1::/64")
	for range 2 { // the second time there is nothing to do
		if err := n.SetPodCIDR(t.Context(), ranges...); err != nil {
			t.Fatal(err)
		}
	}

	got := []string{setup(t, n, "a", podnet.PortMapping{
		Protocol:      "TCP",
		HostPort:      8080,
		ContainerPort: 80,
	}), setup(t, n, "b")}
	if err := n.Teardown(t.Context(), podnet.Pod{ID: "a"}); err != nil {
		t.Fatal(err)
	}

	n = open(t, h, dir, true) // another process, which remembers the ranges
	got = append(got, setup(t, n, "c", podnet.PortMapping{
		Protocol:      "TCP",
		HostPort:      8080,
		ContainerPort: 80,
	}))

	want := []string{"10.244.1.3 fd00:244:0:1::3", "10.244.1.4 fd00:244:0:1::4", "10.244.1.3 fd00:244:0:1::3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods' addresses: %s", diff)
	}

	plan := h.Plan()
	equal := cmp.Options{
		cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{}, netip.AddrPort{}),
		cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(prefixes(t, "10.244.1.2/24", "fd00:244:0:1::2/64"), plan.Bridges[0].Addrs, equal); diff != "" {
		t.Errorf("the host's addresses: %s", diff)
	}

	for _, port := range plan.Ports {
		routes := []netplan.Route{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.244.1.2")},
			{Dst: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fd00:244:0:1::2")},
		}
		if diff := cmp.Diff(routes, port.Routes, equal); diff != "" {
			t.Errorf("routes of %v: %s", port.Addrs, diff)
		}

		if diff := cmp.Diff([]netplan.NAT{{Except: prefixes(t, "10.244.0.0/16", "fd00:244::/32")}}, port.NAT,
			equal); diff != "" {
			t.Errorf("translation of %v: %s", port.Addrs, diff)
		}
	}

	var backends []netip.AddrPort
	for _, lb := range plan.LoadBalancers {
		backends = append(backends, lb.Backends...)
	}

	hostPorts := []netip.AddrPort{
		netip.MustParseAddrPort("10.244.1.3:80"),
		netip.MustParseAddrPort("[fd00:244:0:1::3]:80"),
	}
	if diff := cmp.Diff(hostPorts, backends, equal); diff != "" {
		t.Errorf("hostPort 8080 leads to: %s", diff)
	}
}

// An IPv4-only node in a dual-stack cluster gets two ranges and takes the IPv4 one.
func TestSingleStackNode(t *testing.T) {
	h, dir := newHost(wire.Version{Major: 9, Minor: 5}), t.TempDir()
	n := open(t, h, dir, false)
	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24", "fd00:244:0:1::/64")...); err != nil {
		t.Fatal(err)
	}
	if got := n.PodCIDR().String(); got != "10.244.1.0/24" {
		t.Errorf("the pod CIDR is %s", got)
	}

	if got := h.Plan().Bridges[0].Addrs; len(got) != 1 {
		t.Errorf("the host's addresses are %v", got)
	}
	dual := open(t, newHost(wire.Version{Major: 9, Minor: 5}), t.TempDir(), true)
	if err := dual.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24", "fd00:244:0:1::/64")...); err == nil {
		t.Error("HNS 9.5 made a network with IPv6")
	}
}
