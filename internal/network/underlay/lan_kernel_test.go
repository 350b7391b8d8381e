//go:build kernel

package underlay_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// TestLAN puts a host on a network of the machine's. A neighbour on that network and the host reach each other on the
// link, and each other's pods by routes through them; the machine answers ARP for no other address, and nothing is
// left.
func TestLAN(t *testing.T) {
	machine, neighbour := netnstest.New(t, "machine"), netnstest.New(t, "neighbour")
	connect(t, machine, neighbour)
	lanState := func() string {
		return state(t, machine) + run(t, machine, "sh", "-c",
			"ip neigh show proxy; ip addr show dev uplink | grep 'inet '")
	}
	before := lanState()

	open := func() *underlay.Underlay {
		u, err := underlay.New(underlay.Config{
			RunDir:       t.TempDir(),
			MachineNetns: machine,
			Subnet:       netip.MustParsePrefix("198.51.100.0/24"),
			Machine:      netip.MustParseAddr("198.51.100.1"),
			LAN: underlay.LAN{
				Link: "uplink",
				MTU:  1400,
				Pods: netip.MustParsePrefix("10.244.0.0/16"),
			},
		})
		if err != nil {
			t.Fatal(err)
		}

		return u
	}

	u := open()
	down := func() {
		if err := u.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}

	t.Cleanup(down)
	host, other := netip.MustParseAddr("198.51.100.50"), netip.MustParseAddr("198.51.100.2")
	ours, theirs := netip.MustParsePrefix("10.244.1.0/24"), netip.MustParsePrefix("10.244.2.0/24")
	for range 2 { // the second time nothing changes
		if err := u.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := u.AddHost(t.Context(), "host", host); err != nil {
			t.Fatal(err)
		}

		for via, cidr := range map[netip.Addr]netip.Prefix{host: ours, other: theirs} {
			if err := u.SetPodRoute(t.Context(), via, cidr); err != nil {
				t.Fatal(err)
			}
		}
	}

	wantWhole(t, u, u.Config().MachineNetns)
	ns := u.HostNetns("host")

	// A pod here, a pod of the neighbour's, and the route there that flannel's backend host-gw or kindnet would make.
	run(t, ns, "ip", "addr", "add", "10.244.1.5/32", "dev", "lo")
	run(t, neighbour, "ip", "addr", "add", "10.244.2.5/32", "dev", "lo")
	run(t, neighbour, "ip", "route", "add", "10.244.1.0/24", "via", "198.51.100.50", "dev", "eth0")
	netnstest.Serve(t, ns, "host", "198.51.100.50:80")
	netnstest.Serve(t, ns, "pod", "10.244.1.5:80")
	netnstest.Serve(t, neighbour, "neighbour", "198.51.100.2:80")
	netnstest.Serve(t, neighbour, "theirs", "10.244.2.5:80")

	netnstest.Flow(t, neighbour, "198.51.100.50:80", "host", "198.51.100.2")
	netnstest.Flow(t, neighbour, "10.244.1.5:80", "pod", "198.51.100.2")
	netnstest.Flow(t, ns, "198.51.100.2:80", "neighbour", "198.51.100.50")
	netnstest.Flow(t, ns, "10.244.2.5:80", "theirs", "198.51.100.50")
	netnstest.Flow(t, machine, "10.244.1.5:80", "pod", "198.51.100.1")
	netnstest.Flow(t, machine, "10.244.2.5:80", "theirs", "198.51.100.1")
	if !strings.Contains(run(t, ns, "ip", "link", "show", "eth0"), "mtu 1400") {
		t.Error("the host's interface takes more than the network carries")
	}

	if out := run(t, neighbour, "sh", "-c",
		"ping -c1 -W1 198.51.100.51; ip neigh show 198.51.100.51"); strings.Contains(out, "lladdr") {
		t.Errorf("the machine answers for an address that is no host's: %s", out)
	}

	if err := u.SetPodRoute(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if routes := run(t, machine, "ip", "route"); strings.Contains(routes, "10.244.2.0") ||
		!strings.Contains(routes, "10.244.1.0") {
		t.Errorf("after the neighbour is no node any more:\n%s", routes)
	}

	if err := u.SetPodRoute(t.Context(), other, theirs); err != nil {
		t.Fatal(err)
	}

	if err := u.RemoveHost(t.Context(), "host"); err != nil {
		t.Fatal(err)
	}
	if left := run(t, machine, "sh", "-c", "ip neigh show proxy; ip route"); strings.Contains(left, "198.51.100.50") {
		t.Errorf("after the host was removed:\n%s", left)
	}
	if err := u.AddHost(t.Context(), "host", host); err != nil {
		t.Fatal(err)
	}

	down()
	if diff := cmp.Diff(before, lanState()); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
}
