//go:build kernel

package underlay_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// TestExternal has a node on a network of the machine's. It and the hosts reach each other and each other's pods, each
// seen with its own address; its neighbours reach nothing in the fabric, and pods reach nobody else unmasked.
func TestExternal(t *testing.T) {
	machine, server := netnstest.New(t, "machine"), netnstest.New(t, "server")
	connect(t, machine, server)
	run(t, server, "sh", "-c", "ip addr add 198.51.100.3/32 dev lo; ip addr add 10.244.2.5/32 dev lo; "+
		"ip addr add 10.244.1.99/32 dev lo; ip route add 192.0.2.0/24 via 198.51.100.1 src 198.51.100.3")
	run(t, machine, "sh", "-c", "ip route add 203.0.113.0/24 via 198.51.100.9; ip route add 198.51.100.3 dev uplink")
	before := state(t, machine)
	node, host := netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("10.213.0.11")
	far := netip.MustParseAddr("203.0.113.7")
	config := underlay.Config{
		RunDir: t.TempDir(), MachineNetns: machine,
		External: underlay.External{
			Nodes: []netip.Prefix{netip.PrefixFrom(node, 32), netip.PrefixFrom(far, 32)},
			Pods:  netip.MustParsePrefix("10.244.0.0/16"),
		},
	}

	open := func(c underlay.Config) *underlay.Underlay {
		u, err := underlay.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}

	u := open(config)
	down := func() {
		if err := u.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}

	t.Cleanup(down)
	ours, theirs := netip.MustParsePrefix("10.244.1.0/24"), netip.MustParsePrefix("10.244.2.0/24")
	for range 2 { // the second time nothing changes
		if err := u.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := u.AddHost(t.Context(), "host", host); err != nil {
			t.Fatal(err)
		}

		for via, cidr := range map[netip.Addr]netip.Prefix{host: ours, node: theirs} {
			if err := u.SetPodRoute(t.Context(), via, cidr); err != nil {
				t.Fatal(err)
			}
		}
	}

	wantWhole(t, u, u.Config().MachineNetns)
	ns := u.HostNetns("host")
	run(t, ns, "ip", "addr", "add", "10.244.1.5/32", "dev", "lo")
	netnstest.Serve(t, ns, "host", "10.213.0.11:80")
	netnstest.Serve(t, ns, "pod", "10.244.1.5:80")
	netnstest.Serve(t, server, "server", "198.51.100.2:80")
	netnstest.Serve(t, server, "theirs", "10.244.2.5:80")
	netnstest.Serve(t, server, "stranger", "198.51.100.3:80")

	netnstest.Flow(t, ns, "198.51.100.2:80", "server", "10.213.0.11")
	netnstest.Flow(t, ns, "10.244.2.5:80", "theirs", "10.213.0.11")
	netnstest.Flow(t, ns, "198.51.100.3:80", "stranger", "198.51.100.1") // masqueraded
	run(t, server, "ip", "route", "add", "10.213.0.0/24", "via", "198.51.100.1", "src", "198.51.100.2")
	netnstest.Flow(t, server, "10.213.0.11:80", "host", "198.51.100.2")

	for _, from := range []struct {
		source string
		passes bool
	}{
		{"10.244.2.5", true},    // a pod of the external node
		{"198.51.100.3", false}, // a neighbour that is no node
		{"10.244.1.99", false},  // a neighbour that says that it is a pod of the host
	} {
		run(t, server, "ip", "route", "replace", "10.244.1.0/24", "via", "198.51.100.1", "src", from.source)
		before := datagrams(t, ns)
		if from.passes {
			netnstest.Flow(t, server, "10.244.1.5:80", "pod", from.source)
		} else {
			netnstest.NoFlow(t, server, "10.244.1.5:80")
		}

		// No answer could come back in any case to who takes an address of the host's pods.
		if arrived := datagrams(t, ns) > before; arrived != from.passes {
			t.Errorf("packets of %s arrive: %v", from.source, arrived)
		}
	}

	// A pod's own address leaves for nodes and pods alone.
	run(t, ns, "ip", "route", "add", "198.51.100.3/32", "via", "10.213.0.254", "src", "10.244.1.5")
	netnstest.NoFlow(t, ns, "198.51.100.3:80")
	run(t, ns, "ip", "route", "add", "10.244.2.0/24", "via", "10.213.0.254", "src", "10.244.1.5")
	run(t, server, "ip", "route", "replace", "10.244.1.0/24", "via", "198.51.100.1")
	netnstest.Flow(t, ns, "10.244.2.5:80", "theirs", "10.244.1.5")

	if err := u.SetPodRoute(t.Context(), far, netip.MustParsePrefix("10.244.3.0/24")); !errors.Is(err, underlay.ErrNoNeighbour) {
		t.Errorf("a node behind a router: %v", err)
	}
	if err := u.SetPodRoute(t.Context(), node, netip.MustParsePrefix("10.96.0.0/24")); err == nil {
		t.Error("a route to what is no pods' network")
	}

	routes := func() string { return run(t, machine, "ip", "route") }
	if got := routes(); !strings.Contains(got, "10.244.2.0/24 via 198.51.100.2") || strings.Contains(got, "10.244.3.0") {
		t.Errorf("routes:\n%s", got)
	}

	if err := u.SetPodRoute(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if got := routes(); strings.Contains(got, "10.244.2.0") {
		t.Errorf("after the node was deleted:\n%s", got)
	}
	if err := u.SetPodRoute(t.Context(), node, theirs); err != nil {
		t.Fatal(err)
	}

	// A node that was deleted while nobody looked.
	for _, nodes := range [][]netip.Addr{{host, node}, {host}} {
		if err := u.KeepExternalRoutes(t.Context(), nodes); err != nil {
			t.Fatal(err)
		}
		if got := routes(); strings.Contains(got, "10.244.2.0") != slices.Contains(nodes, node) {
			t.Errorf("with the nodes %v:\n%s", nodes, got)
		}
	}

	if err := u.SetPodRoute(t.Context(), node, theirs); err != nil {
		t.Fatal(err)
	}
	config.External = underlay.External{}
	if err := open(config).Up(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := routes(); strings.Contains(got, "10.244.2.0") {
		t.Errorf("without external nodes:\n%s", got)
	}
	if name, _, err := netnstest.Ask(server, "tcp", "10.213.0.11:80", time.Second); err == nil {
		t.Errorf("without external nodes %s answers the server", name)
	}
	if err := u.Up(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := u.SetPodRoute(t.Context(), node, theirs); err != nil {
		t.Fatal(err)
	}
	down()
	if diff := cmp.Diff(before, state(t, machine)); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
}

// datagrams returns how many datagrams of UDP programs of a namespace have been sent.
func datagrams(t *testing.T, ns string) int {
	t.Helper()
	for line := range strings.Lines(run(t, ns, "cat", "/proc/net/snmp")) {
		var n int
		if _, err := fmt.Sscanf(line, "Udp: %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the kernel does not count datagrams")
	return 0
}

// TestExternalRefuses: networks that overlap cannot be told apart.
func TestExternalRefuses(t *testing.T) {
	for _, nodes := range [][]string{
		{"10.213.0.0/25"}, {"10.244.7.0/24"}, {"192.0.2.0/24", "192.0.2.7/32"}, {"2001:db8::/64"},
	} {
		external := underlay.External{Pods: netip.MustParsePrefix("10.244.0.0/16")}
		for _, n := range nodes {
			external.Nodes = append(external.Nodes, netip.MustParsePrefix(n))
		}
		if _, err := underlay.New(underlay.Config{RunDir: "/run/none", External: external}); err == nil {
			t.Errorf("%v is accepted", nodes)
		}
	}
}
