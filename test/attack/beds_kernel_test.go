//go:build kernel

package attack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// bed is a host with two pods: a attacks, b is its neighbour.
type bed struct {
	host, a, b string // network namespaces
	link       string // the host's, to the pods
	gateway    netip.Addr
	gateway6   netip.Addr // invalid: there is no IPv6
	hostMAC    net.HardwareAddr
	atB        *inbox                 // b's UDP port 99
	dhcp       *inbox                 // and that of DHCP's clients
	stolen     func(text string) bool // whether a frame with a text has come to a
}

// Addresses of the pods, which are the same in each bed.
var (
	aMAC, bMAC       = net.HardwareAddr{0, 0x15, 0x5d, 0, 0, 5}, net.HardwareAddr{0, 0x15, 0x5d, 0, 0, 6}
	aIP, bIP         = netip.MustParseAddr("10.244.1.5"), netip.MustParseAddr("10.244.1.6")
	bIP6             = netip.MustParseAddr("fd00:244:1:1::6")
	strange          = netip.MustParseAddr("10.244.1.99")
	strange6         = netip.MustParseAddr("fd00:244:1:1::99")
	elsewhere        = netip.MustParseAddr("198.51.100.9")
	advertisedPrefix = netip.MustParsePrefix("2001:db8:bad::/64")
)

// shell runs commands in a namespace.
func shell(t *testing.T, ns, script string) string {
	t.Helper()
	var out []byte
	err := netns.Do(ns, func() (err error) {
		out, err = exec.CommandContext(t.Context(), "sh", "-ec", script).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// plainBed returns a bridge of Linux as it comes.
func plainBed(t *testing.T) *bed {
	t.Helper()
	d := &bed{
		host: netnstest.New(t, "host"), a: netnstest.New(t, "a"), b: netnstest.New(t, "b"), link: "br0",
		gateway: netip.MustParseAddr("10.244.1.2"), gateway6: netip.MustParseAddr("fd00:244:1:1::2"),
		hostMAC: net.HardwareAddr{0, 0x15, 0x5d, 0, 0, 2},
	}

	shell(t, d.host, `ip link add br0 address 00:15:5d:00:00:02 type bridge mcast_snooping 0; ip link set br0 up
		echo 0 >/proc/sys/net/ipv4/conf/br0/rp_filter; echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
		echo 1 >/proc/sys/net/ipv4/ip_forward
		ip addr add 10.244.1.2/24 dev br0; ip addr add fd00:244:1:1::2/64 dev br0 nodad`)

	for i, pod := range []struct{ ns, mac, last string }{{d.a, aMAC.String(), "5"}, {d.b, bMAC.String(), "6"}} {
		wire(t, d.host, pod.ns, fmt.Sprintf("v%d", i), "br0")
		shell(t, pod.ns, `echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
			ip link set eth0 address `+pod.mac+`; ip link set eth0 up; ip addr add 10.244.1.`+pod.last+`/24 dev eth0
			ip addr add fd00:244:1:1::`+pod.last+`/64 dev eth0 nodad; ip route add default via 10.244.1.2`)
	}

	return d
}

// wire connects a namespace's new eth0 to a bridge of another.
func wire(t *testing.T, host, ns, name, bridge string) {
	t.Helper()
	f, err := os.Open(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()

	err = netns.Do(host, func() error {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec",
			`ip link add "$0" type veth peer name eth0 netns /proc/$$/fd/3; ip link set "$0" master "$1" up`, name, bridge)
		cmd.ExtraFiles = []*os.File{f}
		return cmd.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ourBed returns a host of Windows pods in one of the modes.
func ourBed(t *testing.T, mode netplan.Mode) *bed {
	t.Helper()
	plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	gateway, gateway6 := "10.244.1.2", "fd00:244:1:1::2"
	if mode != netplan.L2Bridge {
		plan = dataplanetest.Plan("10.244.1")
		gateway = "10.244.1.1"
		plan.Bridges[0].Addrs, plan.Bridges[0].Gateways = nil, []netip.Prefix{netip.MustParsePrefix("10.244.1.1/24")}
		for i := range plan.Ports {
			plan.Ports[i].Routes[0].Via = netip.MustParseAddr(gateway)
		}
	}

	plan.LoadBalancers, plan.Bridges[0].Mode = nil, mode
	ns := netnstest.New(t, "host")
	if mode == netplan.Overlay {
		plan.Bridges[0].Overlay = overlayOf("11")
		outside := netnstest.New(t, "outside")
		shell(t, outside, "ip link add sw0 type bridge; ip link set sw0 up")
		wire(t, outside, ns, "p0", "sw0")
		shell(t, ns, "ip addr add 10.213.0.11/24 dev eth0; ip link set eth0 up")
	}

	plane := newPlane(t, ns)
	if err := plane.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	d := &bed{
		host: ns,
		a:    plane.Pin(dataplanetest.NSA),
		b:    plane.Pin(dataplanetest.NSB),
	}

	d.gateway = netip.MustParseAddr(gateway)
	if mode == netplan.L2Bridge {
		d.gateway6 = netip.MustParseAddr(gateway6)
	}

	err := netns.Do(ns, func() error {
		links, err := net.Interfaces()
		for _, l := range links {
			if strings.HasPrefix(l.Name, "hns") {
				d.link, d.hostMAC = l.Name, l.HardwareAddr
			}
		}
		return err
	})
	if err != nil || d.link == "" {
		t.Fatalf("switch %q, %v", d.link, err)
	}

	return d
}

func overlayOf(last string) *netplan.VXLAN {
	return &netplan.VXLAN{
		VNI: 4096, Port: 4789, VTEP: netip.MustParseAddr("10.213.0." + last), MAC: "00:15:5d:aa:00:" + last,
	}
}

func newPlane(t *testing.T, ns string) *dataplane.Plane {
	t.Helper()
	pins := filepath.Join(t.TempDir(), "pods")
	plane, err := dataplane.New(dataplane.Config{Netns: ns, PinDir: pins})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Apply(context.WithoutCancel(t.Context()), netplan.Plan{}); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// inbox has what came to a UDP port.
type inbox struct {
	mu   sync.Mutex
	came []string
}

// listen opens a UDP port of a namespace.
func listen(t *testing.T, ns, address string) *inbox {
	t.Helper()
	var conn net.PacketConn
	err := netns.Do(ns, func() (err error) {
		conn, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })
	in := &inbox{}
	go func() {
		b := make([]byte, 2048)
		for {
			n, _, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			in.mu.Lock()
			in.came = append(in.came, string(b[:n]))
			in.mu.Unlock()
		}
	}()

	return in
}

func (in *inbox) has(text string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.came {
		if strings.Contains(c, text) {
			return true
		}
	}
	return false
}
