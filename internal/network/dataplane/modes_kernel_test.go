//go:build kernel

package dataplane_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// underlay is a wire of network 10.213.0.0/24 with hosts at .11 and .12, a Linux host at .13 and a router at .100,
// behind which is 198.51.100.1.
type underlay struct {
	a, b          host
	linux, router string
	wire          string
}

func newUnderlay(t *testing.T) *underlay {
	t.Helper()
	u := &underlay{
		a:      newHost(t),
		b:      newHost(t),
		linux:  netnstest.New(t, "linux"),
		router: netnstest.New(t, "router"),
		wire:   netnstest.New(t, "wire"),
	}

	run(t, u.wire, "ip link add sw0 type bridge mcast_snooping 0; ip link set sw0 up")
	for i, ns := range []string{u.a.ns, u.b.ns, u.linux, u.router} {
		plug(t, u.wire, ns, i)
	}

	for last, ns := range map[string]string{"11": u.a.ns, "12": u.b.ns, "13": u.linux, "100": u.router} {
		run(t, ns, "ip addr add 10.213.0."+last+"/24 dev eth0; ip link set eth0 up")
		if ns != u.router {
			run(t, ns, "ip route add default via 10.213.0.100")
		}
	}

	run(
		t, u.router, "ip addr add 198.51.100.1/32 dev lo; echo 1 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter; echo 0 > /proc/sys/net/ipv4/conf/eth0/rp_filter")
	return u
}

// plug connects a namespace's new eth0 to the wire.
func plug(t *testing.T, wire, ns string, i int) {
	t.Helper()
	f, err := os.Open(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()

	err = netns.Do(wire, func() error {
		cmd := exec.Command("sh", "-ec",
			`ip link add p$0 type veth peer name eth0 netns /proc/$$/fd/3; ip link set p$0 master sw0 up`, fmt.Sprint(i))
		cmd.ExtraFiles = []*os.File{f}
		return cmd.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// network returns the plan of a network of some mode with pods at .5 and .6 of a subnet as "10.244.1", whose gateway is
// .1.
func network(mode netplan.Mode, subnet string) netplan.Plan {
	p := dataplanetest.Plan(subnet)
	p.LoadBalancers = nil
	b := &p.Bridges[0]
	b.Mode, b.Addrs = mode, nil
	b.Gateways = []netip.Prefix{netip.MustParsePrefix(subnet + ".1/24")}
	for i := range p.Ports {
		p.Ports[i].Routes = []netplan.Route{{
			Dst: netip.MustParsePrefix("0.0.0.0/0"),
			Via: netip.MustParseAddr(subnet + ".1"),
		}}
		p.Ports[i].NAT = nil
	}

	return p
}

// overlay returns the plan of the host at 10.213.0.<last>.
func overlay(subnet, last string) netplan.Plan {
	p := network(netplan.Overlay, subnet)
	p.Bridges[0].Overlay = &netplan.VXLAN{
		VNI:  4096,
		Port: 4789,
		VTEP: netip.MustParseAddr("10.213.0." + last),
		MAC:  "00:15:5d:aa:00:" + last,
	}
	for i := range p.Ports {
		p.Ports[i].NAT = []netplan.NAT{{Except: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}}
	}
	return p
}

func peer(id, subnet, last string) netplan.Peer {
	return netplan.Peer{
		ID:     id,
		Bridge: dataplanetest.Net,
		Subnet: netip.MustParsePrefix(subnet),
		VTEP:   netip.MustParseAddr("10.213.0." + last),
		MAC:    "00:15:5d:aa:00:" + last,
	}
}

// serve starts a server in each pod of both hosts: 10.244.<n>.5 and .6, port 80.
func (u *underlay) serve(t *testing.T) (a5, a6, b5 string) {
	t.Helper()
	a5 = u.a.Pin(dataplanetest.NSA)
	a6 = u.a.Pin(dataplanetest.NSB)
	b5 = u.b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, a5, "a5", "10.244.1.5:80")
	netnstest.Serve(t, a6, "a6", "10.244.1.6:80")
	netnstest.Serve(t, b5, "b5", "10.244.2.5:80")
	netnstest.Serve(t, u.router, "outside", "198.51.100.1:80")
	return a5, a6, b5
}

// Two hosts and a Linux node that flannel could have set up: each reaches each other's pods, with their own addresses.
func TestOverlay(t *testing.T) {
	u := newUnderlay(t)
	planA, planB := overlay("10.244.1", "11"), overlay("10.244.2", "12")
	planA.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12"), peer("linux", "10.244.3.0/24", "13")}
	planB.Peers = []netplan.Peer{peer("a", "10.244.1.0/24", "11")}
	u.a.apply(t, planA)
	u.b.apply(t, planB)

	run(t, u.linux, `ip link add flannel.4096 address 00:15:5d:aa:00:13 type vxlan id 4096 local 10.213.0.13 dev eth0 dstport 4789 nolearning
		ip addr add 10.244.3.0/32 dev flannel.4096; ip link set flannel.4096 up mtu 1450
		ip addr add 10.244.3.5/32 dev lo
		ip neigh add 10.244.1.0 lladdr 00:15:5d:aa:00:11 dev flannel.4096 nud permanent
		bridge fdb add 00:15:5d:aa:00:11 dev flannel.4096 dst 10.213.0.11
		ip route add 10.244.1.0/24 via 10.244.1.0 dev flannel.4096 onlink src 10.244.3.5`)
	a5, a6, b5 := u.serve(t)
	netnstest.Serve(t, u.linux, "linux", "10.244.3.5:80")

	netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "10.244.1.5")
	netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")
	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")
	netnstest.Flow(t, a6, "10.244.3.5:80", "linux", "10.244.1.6")
	netnstest.Flow(t, u.linux, "10.244.1.5:80", "a5", "10.244.3.5")
	netnstest.Flow(t, u.a.ns, "10.244.1.5:80", "a5", "10.244.1.1")
	netnstest.Flow(t, a5, "198.51.100.1:80", "outside", "10.213.0.11")

	got := run(
		t, a5, "ip -o link show eth0; ping -c1 -W2 -M do -s 1422 10.244.2.5 >/dev/null; ping -c1 -W2 10.244.1.1 >/dev/null")
	if !strings.Contains(got, " mtu 1450 ") {
		t.Errorf("a pod's interface is %s", got)
	}

	// The underlay sees VXLAN, not pods.
	netnstest.NoFlow(t, u.router, "10.244.1.5:80")

	// A pod of host b that is also a peer of its own: the way to its host stays in use.
	remote := peer("remote", "10.244.2.5/32", "12")
	remote.MAC = "02:11:0a:f4:02:05"
	step := netplan.Change{Set: netplan.Plan{Peers: []netplan.Peer{remote}}}
	u.a.change(t, &planA, step)
	netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")

	// When the host leaves, no way to its pods is left.
	u.a.change(t, &planA, netplan.Change{Removed: netplan.Removed{Peers: []string{"b", "remote"}}})
	netnstest.NoFlow(t, a5, "10.244.2.5:80")
	u.a.change(t, &planA, netplan.Change{Set: netplan.Plan{Peers: []netplan.Peer{peer("b", "10.244.2.0/24", "12")}}})
	netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
}

// change carries out a change, checks that the kernel then shows the plan, and that a new process finds it so.
func (h host) change(t *testing.T, plan *netplan.Plan, c netplan.Change) {
	t.Helper()
	if err := h.ApplyChange(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	*plan = plan.With(c)
	dataplanetest.Expect(t, h, *plan)
}

// nothingLeft checks that the host's namespace has nothing that was made here but the empty tables.
func nothingLeft(t *testing.T, h host) {
	t.Helper()
	got := run(
		t, h.ns, "ip -o link | grep -Eo ' (hns|vp|vx|vl|va)[0-9a-f]+' || true; ip rule | grep 19968 || true; ip rule | grep 19967 || true; ip -6 rule | grep 19967 || true; ip route show table all proto 0x4e; ip route show table all proto 0x4f; ip -6 route show table all proto 0x4f; ls "+h.pins+" 2>/dev/null || true")
	if strings.TrimSpace(got) != "" {
		t.Errorf("left behind:\n%s", got)
	}
}

// All packets go by the router, also between pods of one host; the router routes them back.
func TestL2Tunnel(t *testing.T) {
	u := newUnderlay(t)
	run(
		t, u.router, "ip route add 10.244.1.0/24 via 10.213.0.11; ip route add 10.244.2.0/24 via 10.213.0.12; nft add table ip count; nft 'add chain ip count f { type filter hook forward priority 0; }'; nft add rule ip count f ip saddr 10.244.1.5 ip daddr 10.244.1.6 counter")
	plan := func(subnet string) netplan.Plan {
		p := network(netplan.L2Tunnel, subnet)
		p.Bridges[0].Addrs, p.Bridges[0].Gateways = []netip.Prefix{netip.MustParsePrefix(subnet + ".2/24")}, nil
		for i := range p.Ports {
			p.Ports[i].NAT = []netplan.NAT{{Except: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}}
		}
		return p
	}

	p := plan("10.244.1")
	for i, backend := range []string{"10.244.1.6:80", "10.244.2.5:80", "10.244.1.5:80"} {
		vip := netip.AddrFrom4([4]byte{10, 96, 0, byte(i + 1)})
		for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
			p.LoadBalancers = append(p.LoadBalancers, netplan.LoadBalancer{
				ID:       fmt.Sprint(vip, proto),
				VIPs:     []netip.Addr{vip},
				Protocol: proto,
				Port:     80,
				Backends: []netip.AddrPort{netip.MustParseAddrPort(backend)},
			})
		}
	}

	p.Normalize()
	u.a.apply(t, p)
	u.b.apply(t, plan("10.244.2"))
	a5, a6, b5 := u.serve(t)
	netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "10.244.1.5")
	if got := run(t, u.router, "nft list table ip count"); strings.Contains(got, "packets 0 ") {
		t.Errorf("packets between pods did not pass the router:\n%s", got)
	}

	netnstest.Flow(t, a6, "10.244.2.5:80", "b5", "10.244.1.6")
	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")
	netnstest.Flow(t, a5, "198.51.100.1:80", "outside", "10.213.0.11")
	netnstest.Flow(t, u.a.ns, "10.244.1.5:80", "a5", "10.244.1.2")
	netnstest.Flow(t, u.router, "10.244.1.5:80", "a5", "10.213.0.100")
	netnstest.Flow(t, a5, "10.96.0.1:80", "a6", "10.244.1.5")
	netnstest.Flow(t, a5, "10.96.0.2:80", "b5", "10.244.1.5")
	netnstest.Flow(t, a5, "10.96.0.3:80", "a5", "")
	run(t, a5, "ping -c1 -W2 10.244.1.6 >&2")
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
}

// Pods are on the underlay with their own hardware addresses, beside their hosts.
func TestTransparent(t *testing.T) {
	u := newUnderlay(t)
	plan := func(last int) netplan.Plan {
		p := network(netplan.Transparent, "10.213.0")
		p.Bridges[0].Gateways = nil
		for i := range p.Ports {
			p.Ports[i].Addrs = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.213.0.%d/24", last+i))}
			p.Ports[i].MAC = fmt.Sprintf("00:15:5d:00:00:%02x", last+i)
			p.Ports[i].Routes[0].Via = netip.MustParseAddr("10.213.0.100")
		}
		return p
	}

	before := run(t, u.a.ns, "ip -4 -o addr show dev eth0; ip route")
	planA := plan(50)
	u.a.apply(t, planA)
	u.b.apply(t, plan(60))
	dataplanetest.Expect(t, u.a, planA)
	a5, a6 := u.a.Pin(dataplanetest.NSA), u.a.Pin(dataplanetest.NSB)
	netnstest.Serve(t, a5, "pod", "10.213.0.50:80")
	netnstest.Serve(t, a6, "next", "10.213.0.51:80")
	netnstest.Serve(t, u.b.Pin(dataplanetest.NSA), "far", "10.213.0.60:80")
	netnstest.Serve(t, u.a.ns, "host", "10.213.0.11:80")
	netnstest.Serve(t, u.router, "outside", "198.51.100.1:80")

	netnstest.Flow(t, a5, "10.213.0.51:80", "next", "10.213.0.50")
	netnstest.Flow(t, a5, "10.213.0.60:80", "far", "10.213.0.50")
	netnstest.Flow(t, a5, "10.213.0.11:80", "host", "10.213.0.50")
	netnstest.Flow(t, u.a.ns, "10.213.0.50:80", "pod", "10.213.0.11")
	netnstest.Flow(t, u.b.ns, "10.213.0.50:80", "pod", "10.213.0.12")
	netnstest.Flow(t, u.router, "10.213.0.50:80", "pod", "10.213.0.100")
	netnstest.Flow(t, a5, "198.51.100.1:80", "outside", "10.213.0.50")
	run(t, a5, "ping -c1 -W2 198.51.100.1 >&2")

	if got := run(t, u.router, "ip neigh show 10.213.0.50"); !strings.Contains(got, "00:15:5d:00:00:32") {
		t.Errorf("the underlay knows the pod as %s", got)
	}
	if st, err := u.a.Stats(t.Context(), dataplanetest.EpA); err != nil || st.RxBytes == 0 || st.TxBytes == 0 {
		t.Errorf("statistics %+v, %v", st, err)
	}

	u.a.change(t, &planA, netplan.Change{Removed: netplan.Removed{
		Ports:      []string{dataplanetest.EpA},
		Namespaces: []string{dataplanetest.NSA},
	}})

	netnstest.NoFlow(t, u.router, "10.213.0.50:80")
	u.a = u.a.reopen(t)
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
	if after := run(t, u.a.ns, "ip -4 -o addr show dev eth0; ip route"); after != before {
		t.Errorf("the host's addresses and routes were\n%sand are\n%s", before, after)
	}
}

// Pods are behind the host's address; the outside, other pods and the host itself reach mapped ports.
func TestNAT(t *testing.T) {
	u := newUnderlay(t)
	plan := network(netplan.WinNAT, "172.20.1")
	for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
		plan.LoadBalancers = append(plan.LoadBalancers, netplan.LoadBalancer{
			ID:       fmt.Sprint("map", proto),
			Protocol: proto,
			Port:     8080,
			FromHost: true,
			Backends: []netip.AddrPort{netip.MustParseAddrPort("172.20.1.5:80")},
		})
	}

	u.a.apply(t, plan)
	pod, other := u.a.Pin(dataplanetest.NSA), u.a.Pin(dataplanetest.NSB)
	netnstest.Serve(t, pod, "pod", "172.20.1.5:80")
	netnstest.Serve(t, u.router, "outside", "198.51.100.1:80")
	netnstest.Serve(t, u.a.ns, "host", "10.213.0.11:81")
	netnstest.Flow(t, pod, "198.51.100.1:80", "outside", "10.213.0.11")
	netnstest.Flow(t, other, "172.20.1.5:80", "pod", "172.20.1.6")
	netnstest.Flow(t, pod, "10.213.0.11:81", "host", "172.20.1.5")
	netnstest.Flow(t, u.router, "10.213.0.11:8080", "pod", "10.213.0.100")
	netnstest.Flow(t, other, "10.213.0.11:8080", "pod", "172.20.1.6")
	netnstest.Flow(t, pod, "10.213.0.11:8080", "pod", "172.20.1.1")
	netnstest.Flow(t, u.a.ns, "10.213.0.11:8080", "pod", "172.20.1.1")
	netnstest.Flow(t, u.a.ns, "127.0.0.1:8080", "pod", "172.20.1.1")
	run(t, pod, "ping -c1 -W2 198.51.100.1 >&2") // WinNAT does carry ICMP
	netnstest.NoFlow(t, u.router, "172.20.1.5:80")
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
}

// needsVLAN skips where the kernel has no 802.1Q.
func needsVLAN(t *testing.T, ns string) {
	t.Helper()
	err := netns.Do(ns, func() error {
		return exec.Command("ip", "link", "add", "link", "eth0", "name", "try", "type", "vlan", "id", "7").Run()
	})
	if err != nil {
		t.Skip("the kernel has no VLAN interfaces (8021q)")
	}
	run(t, ns, "ip link del try")
}

// The frames of a network with a VLAN tag carry it on the uplink.
func TestVLAN(t *testing.T) {
	for _, mode := range []netplan.Mode{netplan.L2Bridge, netplan.Transparent} {
		t.Run(string(mode), func(t *testing.T) {
			u := newUnderlay(t)
			needsVLAN(t, u.linux)
			run(
				t, u.linux, "ip link add link eth0 name tagged type vlan id 42; ip link set tagged up; ip addr add 10.99.0.1/24 dev tagged")
			subnet, want := "10.244.1", "10.244.1.5"
			if mode == netplan.Transparent {
				subnet, want = "10.99.0", "10.99.0.5"
			}

			plan := network(mode, subnet)
			plan.Bridges[0].VLAN, plan.Bridges[0].Gateways = 42, nil
			if mode == netplan.L2Bridge {
				plan.Bridges[0].Addrs = []netip.Prefix{netip.MustParsePrefix("10.244.1.2/24")}
				// The router of the tagged network is the Linux host, for this test.
				run(t, u.a.ns, "ip route replace default via 10.213.0.13")
				run(
					t, u.linux, "ip addr add 10.213.0.13/32 dev tagged; ip route add 10.244.1.0/24 via 10.213.0.11 dev tagged onlink; for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done; ip addr add 10.99.1.1/32 dev lo")
			}

			u.a.apply(t, plan)
			pod, other := u.a.Pin(dataplanetest.NSA), u.a.Pin(dataplanetest.NSB)
			netnstest.Serve(t, other, "other", subnet+".6:80")
			netnstest.Flow(t, pod, subnet+".6:80", "other", want)
			addr := "10.99.0.1:80"
			if mode == netplan.L2Bridge {
				addr = "10.99.1.1:80"
			}

			netnstest.Serve(t, u.linux, "tagged", addr)
			run(
				t, u.linux, "nft add table netdev c; nft 'add chain netdev c i { type filter hook ingress device tagged priority 0; }'; nft add rule netdev c i ip saddr "+want+" counter")
			netnstest.Flow(t, pod, addr, "tagged", want)
			if got := run(t, u.linux, "nft list table netdev c"); strings.Contains(got, "packets 0 ") {
				t.Errorf("frames did not carry the tag:\n%s", got)
			}
			u.a.apply(t, netplan.Plan{})
			nothingLeft(t, u.a)
		})
	}
}
