//go:build kernel

package dataplane_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// both returns a load balancer for TCP and one for UDP; f changes each of them.
func both(id, vip string, port uint16, f func(lb *netplan.LoadBalancer), backends ...string) []netplan.LoadBalancer {
	var all []netplan.LoadBalancer
	for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
		lb := netplan.LoadBalancer{
			ID:       fmt.Sprint(id, "-", proto),
			Protocol: proto,
			Port:     port,
		}
		if vip != "" {
			lb.VIPs = []netip.Addr{netip.MustParseAddr(vip)}
		}

		for _, b := range backends {
			lb.Backends = append(lb.Backends, netip.MustParseAddrPort(b))
		}

		if f != nil {
			f(&lb)
		}
		all = append(all, lb)
	}

	return all
}

// Node ports and external addresses on an overlay: a backend elsewhere sees the source VIP, one here the client.
func TestBalancersOfAnOverlay(t *testing.T) {
	u := newUnderlay(t)
	planA, planB := overlay("10.244.1", "11"), overlay("10.244.2", "12")
	planA.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12")}
	planB.Peers = []netplan.Peer{peer("a", "10.244.1.0/24", "11")}
	external := func(lb *netplan.LoadBalancer) {
		lb.External, lb.SourceVIP = true, netip.MustParseAddr("10.244.1.9")
	}

	planA.LoadBalancers = slices.Concat(
		both("node-near", "", 30001, external, "10.244.1.5:80"),
		both("node-far", "", 30002, external, "10.244.2.5:80"),
		both("external-far", "203.0.113.7", 80, external, "10.244.2.5:80"),
		both("external-near", "203.0.113.8", 80, external, "10.244.1.5:80"),
		both("cluster", "10.96.0.1", 80,
			func(lb *netplan.LoadBalancer) { lb.SourceVIP = netip.MustParseAddr("10.244.1.9") }, "10.244.2.5:80"),
		both("self", "10.96.0.2", 80, nil, "10.244.1.5:80"),
	)

	planA.Normalize()
	u.a.apply(t, planA)
	u.b.apply(t, planB)
	run(t, u.router, "ip route add 203.0.113.0/24 via 10.213.0.11; ip route add 10.96.0.0/24 via 10.213.0.11")
	a5, a6, _ := u.serve(t)
	netnstest.Flow(t, u.router, "10.213.0.11:30001", "a5", "10.213.0.100")
	netnstest.Flow(t, u.router, "10.213.0.11:30002", "b5", "10.244.1.9")
	netnstest.Flow(t, u.router, "203.0.113.7:80", "b5", "10.244.1.9")
	netnstest.Flow(t, u.router, "203.0.113.8:80", "a5", "10.213.0.100")

	netnstest.NoFlow(t, u.router, "10.96.0.1:80") // not external
	netnstest.Flow(t, a6, "10.96.0.1:80", "b5", "10.244.1.6")
	netnstest.Flow(t, a5, "10.96.0.2:80", "a5", "10.244.1.1")
	netnstest.Flow(t, a6, "10.213.0.11:30002", "b5", "10.244.1.6") // a pod, its own host's node port
	netnstest.Flow(t, a5, "10.213.0.11:30001", "a5", "10.244.1.9")
	netnstest.Flow(t, a6, "203.0.113.7:80", "b5", "10.244.1.6")
	netnstest.Flow(t, u.b.Pin(dataplanetest.NSA), "10.213.0.11:30002", "b5", "") // by way of the other host and back
	for _, addr := range []string{"10.213.0.11:30001", "203.0.113.8:80", "10.96.0.2:80"} {
		netnstest.NoFlow(t, u.a.ns, addr) // never from the host itself
	}

	planA.Bridges[0].HostVIPs = true // as from Windows Server 2022 on
	u.a.apply(t, planA)
	netnstest.Flow(t, u.a.ns, "10.96.0.2:80", "a5", "10.244.1.1")
	netnstest.Flow(t, u.a.ns, "203.0.113.8:80", "a5", "10.244.1.1")
	netnstest.Flow(t, u.a.ns, "10.96.0.1:80", "b5", "10.244.1.9")
	netnstest.NoFlow(t, u.a.ns, "10.213.0.11:30001") // its own node port still not
	planA.Bridges[0].HostVIPs = false
	u.a.apply(t, planA)
	netnstest.NoFlow(t, u.a.ns, "10.96.0.2:80")
}

// udpClient asks from one port, again and again.
type udpClient struct {
	c net.PacketConn
	t *testing.T
}

func newUDPClient(t *testing.T, ns string) *udpClient {
	t.Helper()
	u := &udpClient{t: t}
	err := netns.Do(ns, func() (err error) {
		u.c, err = net.ListenPacket("udp", ":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.c.Close() })
	return u
}

// answeredBy asks until the named server answers, at most for a second.
func (u *udpClient) answeredBy(addr, want string) {
	u.t.Helper()
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr))
	b := make([]byte, 200)
	last := "nobody"
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		if _, err := u.c.WriteTo([]byte("?"), to); err != nil {
			u.t.Fatal(err)
		}
		_ = u.c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, _, err := u.c.ReadFrom(b); err == nil {
			if last, _, _ = strings.Cut(string(b[:n]), " "); last == want {
				return
			}
		}
	}

	u.t.Errorf("%s is answered by %s, want %s", addr, last, want)
}

// A UDP client that keeps its port follows its load balancer: to the first backend, to another one, and to a new
// balancer.
func TestUDPFlowsMove(t *testing.T) {
	a, b, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = nil
	a.apply(t, plan)
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "near", "10.244.1.6:53")
	netnstest.Serve(t, b.Pin(dataplanetest.NSA), "far", "10.244.2.5:53")
	inside, fromOutside := newUDPClient(t, a.Pin(dataplanetest.NSA)), newUDPClient(t, outside)
	vip, node := "10.96.0.53:53", "10.213.0.11:30053"
	_, _ = inside.c.WriteTo([]byte("?"), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(vip)))
	_, _ = fromOutside.c.WriteTo([]byte("?"), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(node)))

	for _, backend := range []struct{ name, addr string }{
		{"near", "10.244.1.6:53"},
		{"far", "10.244.2.5:53"},
		{"near", "10.244.1.6:53"},
	} {
		lbs := slices.Concat(both("dns", "10.96.0.53", 53, nil, backend.addr),
			both("node", "", 30053, nil, backend.addr))
		a.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: lbs}})
		inside.answeredBy(vip, backend.name)
		fromOutside.answeredBy(node, backend.name)
	}

	// One more backend does not change the flow to the other backend.
	a.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: both("dns", "10.96.0.53", 53, nil,
		"10.244.1.6:53", "10.244.2.5:53")}})
	for range 20 {
		inside.answeredBy(vip, "near")
	}

	// Another balancer for the same address.
	a.change(t, &plan, netplan.Change{
		Set:     netplan.Plan{LoadBalancers: both("other", "10.96.0.53", 53, nil, "10.244.2.5:53")},
		Removed: netplan.Removed{LoadBalancers: []string{"dns-6", "dns-17"}},
	})
	inside.answeredBy(vip, "far")
}

// A TCP connection stays with its backend when that leaves the balancer.
func TestTCPConnectionsStay(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = both("x", "10.96.0.1", 80, nil, "10.244.1.6:81")
	plan.Normalize()
	h.apply(t, plan)
	var l net.Listener
	var c net.Conn

	err := netns.Do(h.Pin(dataplanetest.NSB), func() (err error) {
		l, err = net.Listen("tcp4", "10.244.1.6:81")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })
	err = netns.Do(h.Pin(dataplanetest.NSA), func() (err error) {
		c, err = net.DialTimeout("tcp4", "10.96.0.1:80", 3*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = c.Close() })
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = far.Close() })
	h.change(t, &plan, netplan.Change{Removed: netplan.Removed{LoadBalancers: []string{"x-6"}}})
	_ = far.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := c.Write([]byte("still")); err != nil {
		t.Fatal(err)
	}

	b := make([]byte, 5)
	if _, err := far.Read(b); err != nil || string(b) != "still" {
		t.Errorf("read %q, %v", b, err)
	}
}

// Packets that need translation and are neither TCP nor UDP do not leave the host, unless the plan says so.
func TestICMP(t *testing.T) {
	a, b, outside := fabric(t)
	ping := func(to string) bool {
		t.Helper()
		return strings.Contains(run(t, a.Pin(dataplanetest.NSA), "ping -c1 -W1 "+to+" || true"), " 0% packet loss")
	}
	run(t, outside, "ip route add 10.244.1.0/24 via 10.213.0.11") // it would answer
	want := map[string]bool{
		"10.244.1.6": true, "10.244.2.5": true, "10.244.1.2": true, "10.213.0.11": true,
		"198.51.100.1": false, "10.213.0.12": false,
	}

	for to, answered := range want {
		if got := ping(to); got != answered {
			t.Errorf("ping of %s answered: %v", to, got)
		}
	}

	plan := dataplanetest.Plan("10.244.1")
	port := plan.Ports[0]
	port.NAT = []netplan.NAT{{Except: port.NAT[0].Except, ICMP: true}}
	a.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
	if !ping("198.51.100.1") {
		t.Error("the outside does not answer where ICMP is carried")
	}
	_ = b
}

// A pod behind another address than the host's.
func TestNATTo(t *testing.T) {
	a, _, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	run(t, outside, "ip route add 10.213.7.7/32 via 10.213.0.11")
	netnstest.Serve(t, outside, "outside", "198.51.100.1:80")
	for name, nat := range map[string]netplan.NAT{
		"everything": {To: netip.MustParseAddr("10.213.7.7")},
		"only": {
			To:   netip.MustParseAddr("10.213.7.7"),
			Only: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			port := plan.Ports[0]
			port.NAT = []netplan.NAT{nat}
			a.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
			netnstest.Flow(t, a.Pin(dataplanetest.NSA), "198.51.100.1:80", "outside", "10.213.7.7")
		})
	}
}
