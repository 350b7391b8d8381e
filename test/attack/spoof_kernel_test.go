//go:build kernel

package attack

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// spoof is an attack on the network: what a pod sends, and how it is seen that it got somewhere.
type spoof struct {
	name string
	try  func(t *testing.T, d *bed)
	got  func(t *testing.T, d *bed) bool
	// six: it needs IPv6.
	six bool
}

// knows reports whether a namespace has an address at the attacker.
func knows(t *testing.T, ns, link string, address netip.Addr) bool {
	t.Helper()
	return strings.Contains(shell(t, ns, "ip neigh show "+address.String()+" dev "+link), aMAC.String())
}

// neighbourSpoofs are frames about who is who.
func neighbourSpoofs() []spoof {
	frames := func(list ...func(d *bed) []byte) func(*testing.T, *bed) {
		return func(t *testing.T, d *bed) {
			t.Helper()
			for _, f := range list {
				send(t, d.a, f(d))
			}
		}
	}

	gatewayAtB := func(t *testing.T, d *bed) bool { t.Helper(); return knows(t, d.b, "eth0", d.gateway) }
	gatewayAtB6 := func(t *testing.T, d *bed) bool { t.Helper(); return knows(t, d.b, "eth0", d.gateway6) }
	routed := func(ns func(d *bed) string) func(t *testing.T, d *bed) bool {
		return func(t *testing.T, d *bed) bool {
			t.Helper()
			return strings.Contains(shell(t, ns(d), "ip -6 route show proto ra; ip -6 route show proto kernel"), "2001:db8:bad") ||
				shell(t, ns(d), "ip -6 route show proto ra") != ""
		}
	}

	self := linkLocal(aMAC)
	return []spoof{
		{name: "arp/reply-for-gateway", got: gatewayAtB, try: frames(func(d *bed) []byte {
			return arpReply(bMAC, aMAC, d.gateway, bIP)
		})},
		{name: "arp/gratuitous-for-gateway", got: gatewayAtB, try: frames(func(d *bed) []byte {
			return arpReply(everyone, aMAC, d.gateway, d.gateway)
		})},
		{
			name: "arp/reply-for-neighbour", got: func(t *testing.T, d *bed) bool {
				t.Helper()
				return knows(t, d.host, d.link, bIP)
			},
			try: frames(func(d *bed) []byte { return arpReply(d.hostMAC, aMAC, bIP, d.gateway) }),
		},
		{name: "nd/advertisement-for-gateway", six: true, got: gatewayAtB6, try: frames(func(d *bed) []byte {
			return ethernet(bMAC, aMAC, etherIPv6, advertisement(aMAC, d.gateway6, bIP6))
		})},
		{
			name: "nd/advertisement-for-neighbour", six: true, got: func(t *testing.T, d *bed) bool {
				t.Helper()
				return knows(t, d.host, d.link, bIP6)
			},
			try: frames(func(d *bed) []byte {
				return ethernet(d.hostMAC, aMAC, etherIPv6, advertisement(aMAC, bIP6, d.gateway6))
			}),
		},
		{
			name: "nd/router-for-neighbour", six: true, got: routed(func(d *bed) string { return d.b }),
			try: frames(func(*bed) []byte {
				return ethernet(everyNode6, aMAC, etherIPv6, router(aMAC, self, advertisedPrefix))
			}, func(*bed) []byte {
				return ethernet(bMAC, aMAC, etherIPv6, router(aMAC, self, advertisedPrefix))
			}),
		},
		{
			name: "nd/router-for-host", six: true, got: routed(func(d *bed) string { return d.host }),
			try: frames(func(*bed) []byte {
				return ethernet(everyNode6, aMAC, etherIPv6, router(aMAC, self, advertisedPrefix))
			}, func(d *bed) []byte {
				return ethernet(d.hostMAC, aMAC, etherIPv6, router(aMAC, self, advertisedPrefix))
			}),
		},
	}
}

// sourceSpoofs are packets with the address of somebody else, sent to the neighbour by all ways.
func sourceSpoofs() []spoof {
	ports := func(from, to netip.Addr) (netip.AddrPort, netip.AddrPort) {
		return netip.AddrPortFrom(from, 9), netip.AddrPortFrom(to, 99)
	}

	one := func(name string, from, to netip.Addr, mac net.HardwareAddr) spoof {
		return spoof{
			name: name, six: to.Is6(),
			try: func(t *testing.T, d *bed) {
				t.Helper()
				from, to := ports(from, to)
				for _, by := range []net.HardwareAddr{d.hostMAC, bMAC, everyone} {
					send(t, d.a, ethernet(by, mac, etherType(to.Addr()), datagram(from, to, []byte(name))))
				}
			},
			got: func(_ *testing.T, d *bed) bool { return d.atB.has(name) },
		}
	}

	return []spoof{
		one("source/strange", strange, bIP, aMAC),
		one("source/strange-elsewhere", elsewhere, bIP, aMAC),
		one("source/own-by-other-mac", strange, bIP, net.HardwareAddr{2, 0, 0, 0, 0, 1}),
		one("source/strange-6", strange6, bIP6, aMAC),
		{
			name: "source/past-the-host", try: func(t *testing.T, d *bed) {
				t.Helper()
				from, to := ports(aIP, bIP)
				send(t, d.a, ethernet(bMAC, aMAC, etherIPv4, datagram(from, to, []byte("past-the-host"))))
			},
			got: func(_ *testing.T, d *bed) bool { return d.atB.has("past-the-host") },
		},
		{
			name: "source/free-bind-6", six: true, try: func(t *testing.T, d *bed) {
				t.Helper()
				unprivileged(t, d.a, strange6, netip.AddrPortFrom(bIP6, 99), "free-bind-6")
			},
			got: func(_ *testing.T, d *bed) bool { return d.atB.has("free-bind-6") },
		},
		{
			name: "source/mac-of-neighbour", try: func(t *testing.T, d *bed) {
				t.Helper()
				from, to := ports(bIP, d.gateway)
				send(t, d.a, ethernet(d.hostMAC, bMAC, etherIPv4, datagram(from, to, []byte("mac"))))
				unprivileged(t, d.host, netip.Addr{}, netip.AddrPortFrom(bIP, 98), "for the neighbour")
			},
			got: func(_ *testing.T, d *bed) bool { return d.stolen("for the neighbour") },
		},
	}
}

// offers returns what servers and routers of a network say: addresses, and better ways.
func offers() []spoof {
	offer := netip.AddrPortFrom(netip.IPv4Unspecified(), 67)
	toAll := netip.MustParseAddrPort("255.255.255.255:68")
	return []spoof{
		{
			name: "dhcp/offer", try: func(t *testing.T, d *bed) {
				t.Helper()
				from := netip.AddrPortFrom(aIP, offer.Port())
				send(t, d.a, ethernet(everyone, aMAC, etherIPv4, datagram(from, toAll, []byte("an offer"))))
			},
			got: func(_ *testing.T, d *bed) bool { return d.dhcp.has("an offer") },
		},
		{
			name: "dhcp/offer-by-socket", try: func(t *testing.T, d *bed) {
				t.Helper()
				unprivileged(t, d.a, netip.Addr{}, toAll, "by socket")
				unprivileged(t, d.a, netip.Addr{}, netip.MustParseAddrPort("10.244.1.255:68"), "by socket")
			},
			got: func(_ *testing.T, d *bed) bool { return d.dhcp.has("by socket") },
		},
		{
			name: "redirect/of-neighbour", try: func(t *testing.T, d *bed) {
				t.Helper()
				b := append([]byte{5, 1, 0, 0}, aIP.AsSlice()...)
				b = append(b, packet(bIP, elsewhere, protoICMP, make([]byte, 8), 2)...) // about an answer to a ping
				redirect := packet(d.gateway, bIP, protoICMP, b, 2)
				for _, by := range []net.HardwareAddr{d.hostMAC, bMAC} {
					send(t, d.a, ethernet(by, aMAC, etherIPv4, redirect))
				}
			},
			got: func(t *testing.T, d *bed) bool {
				t.Helper()
				return strings.Contains(shell(t, d.b, "ip route get "+elsewhere.String()), "via "+aIP.String())
			},
		},
	}
}

// unprivileged sends a datagram from an address that is not the namespace's, as a program without any rights can: by
// IP_FREEBIND. Without an address it is an ordinary datagram.
func unprivileged(t *testing.T, ns string, from netip.Addr, to netip.AddrPort, text string) {
	t.Helper()
	err := netns.Do(ns, func() error {
		family := unix.AF_INET
		bind := unix.Sockaddr(&unix.SockaddrInet4{})
		dest := unix.Sockaddr(nil)
		if to.Addr().Is6() {
			family = unix.AF_INET6
			dest = &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())}
			bind = &unix.SockaddrInet6{Addr: from.As16()}
		} else {
			dest = &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
		}

		fd, err := unix.Socket(family, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err != nil {
			return err
		}

		if from.IsValid() {
			if err := unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_FREEBIND, 1); err != nil {
				return err
			}
			if err := unix.Bind(fd, bind); err != nil {
				return err
			}
		}

		return unix.Sendto(fd, []byte(text), 0, dest)
	})
	if err != nil {
		t.Log(err)
	}
}

// succeeds tries an attack until it gets somewhere. For a second Linux keeps what it has just learned of a neighbour.
func succeeds(t *testing.T, s spoof, d *bed) bool {
	t.Helper()
	for deadline := time.Now().Add(1600 * time.Millisecond); ; <-time.After(100 * time.Millisecond) {
		s.try(t, d)
		if s.got(t, d) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// meet makes the host and the neighbour know each other.
func (d *bed) meet(t *testing.T) {
	t.Helper()
	d.atB = listen(t, d.b, ":99")
	d.dhcp = listen(t, d.b, ":68")
	d.stolen = sniffer(t, d.a)
	shell(t, d.b, `cd /proc/sys/net/ipv4/conf; echo 0 >all/forwarding; echo 0 >eth0/forwarding
		echo 1 >all/accept_redirects; echo 1 >eth0/accept_redirects; ping -c1 -W2 `+d.gateway.String())
	shell(t, d.host, "ping -c1 -W2 "+bIP.String())
	if d.gateway6.IsValid() {
		shell(t, d.b, "ping -c1 -W2 "+d.gateway6.String())
		shell(t, d.host, "ping -c1 -W2 "+bIP6.String())
	}
}

// TestSpoofing has a pod say that it is somebody else, with frames that a container cannot send and with packets that
// it can. Each attack gets somewhere on a bridge as Linux makes it, and nowhere on the switches of our modes.
func TestSpoofing(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	attacks := append(append(neighbourSpoofs(), sourceSpoofs()...), offers()...)
	tried, reached := 0, 0
	for _, s := range attacks {
		t.Run("plain/"+s.name, func(t *testing.T) {
			d := plainBed(t)
			d.meet(t)
			if !succeeds(t, s, d) {
				t.Error("control: on a plain bridge it gets nowhere either")
			}
		})
	}

	for _, mode := range []netplan.Mode{netplan.L2Bridge, netplan.Overlay, netplan.WinNAT} {
		for _, s := range attacks {
			t.Run(string(mode)+"/"+s.name, func(t *testing.T) {
				d := ourBed(t, mode)
				if s.six && !d.gateway6.IsValid() {
					return
				}

				d.meet(t)
				tried++
				if succeeds(t, s, d) {
					reached++
					t.Error("it got somewhere")
				}
			})
		}
	}

	t.Logf("spoofing: %d of %d attacks got somewhere", reached, tried)
}

// TestForgedTunnel has a pod of an overlay send what only hosts send: frames in VXLAN, to the other host. The control
// is the same from the underlay.
func TestForgedTunnel(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	outside := netnstest.New(t, "outside")
	shell(t, outside, `ip link add sw0 type bridge mcast_snooping 0; ip link set sw0 up; ip addr add 10.213.0.13/24 dev sw0`)
	hosts := map[string]*dataplane.Plane{}
	for i, last := range []string{"11", "12"} {
		ns := netnstest.New(t, "host")
		wire(t, outside, ns, fmt.Sprintf("p%d", i), "sw0")
		shell(t, ns, "ip addr add 10.213.0."+last+"/24 dev eth0; ip link set eth0 up")
		subnet := fmt.Sprintf("10.244.%d", i+1)
		plan := dataplanetest.Plan(subnet)
		plan.LoadBalancers = nil
		b := &plan.Bridges[0]
		b.Mode = netplan.Overlay
		b.Addrs = nil
		b.Overlay = overlayOf(last)
		b.Gateways = []netip.Prefix{netip.MustParsePrefix(subnet + ".1/24")}
		for i := range plan.Ports {
			plan.Ports[i].Routes[0].Via = netip.MustParseAddr(subnet + ".1")
		}

		for other, at := range map[string]string{"11": "10.244.1.0/24", "12": "10.244.2.0/24"} {
			if other != last {
				plan.Peers = append(plan.Peers, netplan.Peer{
					ID: other, Bridge: dataplanetest.Net, Subnet: netip.MustParsePrefix(at),
					VTEP: overlayOf(other).VTEP, MAC: overlayOf(other).MAC,
				})
			}
		}

		hosts[last] = newPlane(t, ns)
		if err := hosts[last].Apply(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}

	a, b := hosts["11"].Pin(dataplanetest.NSA), hosts["12"].Pin(dataplanetest.NSA)
	at := listen(t, b, ":99")
	shell(t, a, "ping -c1 -W2 10.244.2.5")
	forged := func(last, text string, to netip.AddrPort) []byte {
		mac, err := net.ParseMAC(overlayOf(last).MAC)
		if err != nil {
			t.Fatal(err)
		}
		inner := datagram(netip.AddrPortFrom(strange, 9), to, []byte(text))
		return vxlan(4096, ethernet(mac, aMAC, etherIPv4, inner))
	}

	neighbour, far := netip.MustParseAddrPort("10.244.1.6:99"), netip.MustParseAddrPort("10.244.2.5:99")
	near := listen(t, hosts["11"].Pin(dataplanetest.NSB), ":99")
	tried, reached := 0, 0
	for _, try := range []struct {
		name, ns, host, last string
		to                   netip.AddrPort
		in                   *inbox
		control              bool
	}{
		{"from-underlay", outside, "10.213.0.12", "12", far, at, true},
		{"from-pod-to-other-host", a, "10.213.0.12", "12", far, at, false},
		{"from-pod-to-own-host", a, "10.213.0.11", "11", neighbour, near, false},
		{"from-pod-to-gateway", a, "10.244.1.1", "11", neighbour, near, false},
	} {
		t.Run(try.name, func(t *testing.T) {
			s := spoof{
				try: func(t *testing.T, _ *bed) {
					t.Helper()
					unprivileged(t, try.ns, netip.Addr{}, netip.MustParseAddrPort(try.host+":4789"),
						string(forged(try.last, try.name, try.to)))
				},
				got: func(*testing.T, *bed) bool { return try.in.has(try.name) },
			}

			got := succeeds(t, s, nil)
			if got != try.control {
				t.Errorf("a frame in a tunnel arrives: %t, want %t", got, try.control)
			}
			if !try.control {
				tried++
			}

			if got && !try.control {
				reached++
			}
		})
	}

	t.Logf("tunnels: %d of %d attacks got somewhere", reached, tried)
}
