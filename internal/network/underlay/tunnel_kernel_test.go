//go:build kernel

package underlay_test

import (
	"context"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// machine is one of several machines that an underlay spans.
type machine struct {
	u    *underlay.Underlay
	ns   string
	at   netip.Addr
	host netip.Addr
}

func newMachine(t *testing.T, ns, at string, part byte) machine {
	t.Helper()
	addr := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 213, part, last}) }
	m := machine{
		ns:   ns,
		at:   netip.MustParseAddr(at),
		host: addr(11),
	}

	var err error
	m.u, err = underlay.New(underlay.Config{
		RunDir:       t.TempDir(),
		MachineNetns: ns,
		Subnet:       netip.MustParsePrefix("10.213.0.0/16"),
		Subnet6:      netip.MustParsePrefix("fd00:213::/64"),
		Fabric:       addr(1),
		Machine:      addr(254),
		Tunnel: underlay.Tunnel{
			Local: m.at,
			Port:  6443,
			VNI:   77,
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := m.u.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	return m
}

func (m machine) up(t *testing.T, others ...machine) {
	t.Helper()
	if err := m.u.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.u.AddHost(t.Context(), "host", m.host); err != nil {
		t.Fatal(err)
	}
	m.knows(t, others...)
	wantWhole(t, m.u, m.u.Config().MachineNetns)
}

func (m machine) knows(t *testing.T, others ...machine) {
	t.Helper()
	var at []netip.Addr
	for _, o := range others {
		at = append(at, o.at)
	}
	if err := m.u.SetMachines(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

// reaches reports whether a host of m gets an answer from an address.
func (m machine) reaches(t *testing.T, to netip.Addr, options ...string) bool {
	t.Helper()
	return netns.Do(m.u.HostNetns("host"), func() error {
		return exec.CommandContext(t.Context(), "ping", append(options, "-c1", "-W1", to.String())...).Run()
	}) == nil
}

func TestSeveralMachines(t *testing.T) {
	one, two := netnstest.New(t, "one"), netnstest.New(t, "two")
	connect(t, one, two)
	before := state(t, one)
	a, b := newMachine(t, one, "198.51.100.1", 0), newMachine(t, two, "198.51.100.2", 1)
	a.up(t, b)
	b.up(t, a)

	if !a.reaches(t, b.host) || !b.reaches(t, a.host) {
		t.Fatalf("the hosts of two machines do not reach each other:\n%s", run(t, a.u.FabricNetns(), "bridge", "fdb"))
	}
	if !strings.Contains(run(t, a.u.HostNetns("host"), "ip", "link", "show", "eth0"), "mtu 1450") {
		t.Error("a host's interface does not leave room for the tunnel's headers")
	}

	t.Run("ipv6", func(t *testing.T) { overIPv6(t, a, b) })
	// Pods on the underlay itself send frames of an Ethernet's size, and the way between the machines carries no more
	// than that, with VXLAN's headers. If a frame must not be fragmented, the kernel answers with the size that fits
	// (path MTU discovery, which vxlan does for bridges); other frames are fragmented.
	run(t, a.u.HostNetns("host"), "ip", "link", "set", "eth0", "mtu", "1500")
	run(t, b.u.HostNetns("host"), "ip", "link", "set", "eth0", "mtu", "1500")
	if !a.reaches(t, b.host, "-s", "1472", "-M", "dont") {
		t.Error("a full frame is lost between the machines")
	}

	if a.reaches(t, b.host, "-s", "1472", "-M", "do") {
		t.Error("a full frame that must not be fragmented was")
	}
	if !strings.Contains(run(t, a.u.HostNetns("host"), "ip", "route", "get", b.host.String()), "mtu 1450") {
		t.Error("the sender of a frame that does not fit is not told what does")
	}

	t.Run("again", func(t *testing.T) {
		fdb := run(t, a.u.FabricNetns(), "sh", "-c", "bridge fdb show dev machines | grep 00:00:00:00:00:00")
		a.up(t, b)
		if diff := cmp.Diff(fdb, run(t, a.u.FabricNetns(), "sh", "-c",
			"bridge fdb show dev machines | grep 00:00:00:00:00:00")); diff != "" {
			t.Errorf("a second Up changes the flood list:\n%s", diff)
		}
		if !b.reaches(t, a.host) {
			t.Error("after a second Up the hosts do not reach each other")
		}
	})

	t.Run("left", func(t *testing.T) {
		a.knows(t) // b has left but does not know it: its packets count as a stranger's
		if a.reaches(t, b.host) || b.reaches(t, a.host) {
			t.Error("a machine that left is still reached")
		}
		a.knows(t, b)
		if !b.reaches(t, a.host) {
			t.Error("a machine that came back is not reached")
		}
	})

	t.Run("down", func(t *testing.T) {
		if err := a.u.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, state(t, one)); diff != "" {
			t.Errorf("Down leaves behind:\n%s", diff)
		}
	})
}

// overIPv6 checks that hosts, pods and load balancers' addresses of two machines are reached by IPv6, though the way
// between the machines has IPv4 alone.
func overIPv6(t *testing.T, a, b machine) {
	t.Helper()
	pods, service := netip.MustParsePrefix("fd00:244:0:1::/64"), netip.MustParseAddr("fd00:213::e0")
	for _, m := range []machine{a, b} {
		if err := m.u.SetPodRoute(t.Context(), b.host, netip.MustParsePrefix("10.244.1.0/24"), pods); err != nil {
			t.Fatal(err)
		}
		to := []underlay.Route{{CIDR: netip.PrefixFrom(service, 128), Via: netip.MustParseAddr("fd00:213::10b")}}
		if err := m.u.SetServiceRoutes(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}

	run(t, b.u.HostNetns("host"), "sh", "-c", "ip link set lo up; for a in fd00:244:0:1::2 "+service.String()+
		"; do ip addr add $a/128 dev lo; done")
	for _, to := range []string{"fd00:213::10b", "fd00:244:0:1::2", service.String()} {
		if !a.reaches(t, netip.MustParseAddr(to), "-s", "1400") {
			t.Errorf("%s of the other machine is not reached", to)
		}
		run(t, a.u.FabricNetns(), "ping", "-c1", "-W2", to)
		run(t, a.ns, "ping", "-c1", "-W2", to)
	}

	if !a.reaches(t, netip.MustParseAddr("fd00:244:0:1::2"), "-s", "3000", "-M", "dont") {
		t.Error("a packet that its sender has to fragment does not arrive")
	}
}

func TestTunnelIsChecked(t *testing.T) {
	for name, tunnel := range map[string]underlay.Tunnel{
		"any address": {Local: netip.IPv4Unspecified(), Port: 6443, VNI: 1},
		"no port":     {Local: netip.MustParseAddr("198.51.100.1"), VNI: 1},
		"large VNI":   {Local: netip.MustParseAddr("198.51.100.1"), Port: 6443, VNI: 1 << 24},
	} {
		if _, err := underlay.New(underlay.Config{RunDir: t.TempDir(), Tunnel: tunnel}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What a pod sends to another machine's tunnel is not taken for a frame of the underlay, though the machine hides the
// pod behind its own address, which the other machine admits.
func TestPodsCannotSendFrames(t *testing.T) {
	one, two := netnstest.New(t, "one"), netnstest.New(t, "two")
	connect(t, one, two)
	a, b := newMachine(t, one, "198.51.100.1", 0), newMachine(t, two, "198.51.100.2", 1)
	a.up(t, b)
	b.up(t, a)
	if !b.reaches(t, a.host) {
		t.Fatal("the hosts of two machines do not reach each other")
	}

	// Else the kernel ignores what it is told of a neighbour within a second.
	run(t, b.u.HostNetns("host"), "sysctl", "-q", "-w", "net.ipv4.neigh.eth0.locktime=0")
	neighbour := func() string {
		fields := strings.Fields(run(t, b.u.HostNetns("host"), "ip", "neigh", "show", a.host.String()))
		if i := slices.Index(fields, "lladdr"); i >= 0 {
			return fields[i+1]
		}
		return "unknown"
	}

	forged := net.HardwareAddr{0x02, 0xde, 0xad, 0xbe, 0xef, 0x01}
	before := neighbour()
	err := netns.Do(a.u.HostNetns("host"), func() error {
		conn, err := net.Dial("udp4", "198.51.100.2:6443")
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(forgedAnswer(77, forged, a.host, b.host))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	if !b.reaches(t, a.host) { // by now the frame has arrived, or it never does
		t.Error("the hosts do not reach each other any more")
	}
	if after := neighbour(); after != before || after == forged.String() {
		t.Errorf("the neighbour %s is at %s, and was at %s", a.host, after, before)
	}
}

// forgedAnswer returns a VXLAN packet's payload with an ARP answer that says that somebody is at a hardware address.
func forgedAnswer(vni byte, at net.HardwareAddr, somebody, to netip.Addr) []byte {
	frame := []byte{0x08, 0, 0, 0, 0, 0, vni, 0}                       // RFC 7348, section 5
	frame = append(frame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)          // to all
	frame = append(append(frame, at...), 0x08, 0x06)                   // ARP
	frame = append(frame, 0, 1, 0x08, 0, 6, 4, 0, 2)                   // Ethernet, IPv4, an answer
	frame = append(append(frame, at...), somebody.AsSlice()...)        // from
	frame = append(frame, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)          // to
	return append(frame, append(to.AsSlice(), make([]byte, 18)...)...) // 60 bytes, as the shortest frame
}
