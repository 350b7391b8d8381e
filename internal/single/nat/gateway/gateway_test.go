package gateway

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/single/nat/wire"
)

// TestGuardByNumber holds that these are refused whatever the machine's routes are.
func TestGuardByNumber(t *testing.T) {
	for _, to := range []string{
		"127.0.0.1", "127.255.0.1", "0.0.0.0", "0.1.2.3", "169.254.169.254", "224.0.0.1", "255.255.255.255", "::1", "2001:db8::1",
		"::ffff:127.0.0.1", "168.63.129.16", "100.100.100.200", "192.0.0.192",
	} {
		if err := (guard{clusters: "mullion "}).check(netip.MustParseAddr(to)); !errors.Is(err, errGuarded) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestBadRequest holds that what is no request, or has a file too many or too few, changes nothing.
func TestBadRequest(t *testing.T) {
	s := newServer()
	begin := &wire.Begin{Subnet: netip.MustParsePrefix("172.30.208.1/20")}
	if err := s.answer(wire.Request{Begin: begin}, nil); err != nil {
		t.Fatal(err)
	}

	file := func() *os.File {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}

	mac := "00:15:5d:00:00:02"
	for name, tc := range map[string]struct {
		request wire.Request
		file    *os.File
	}{
		"nothing": {wire.Request{}, nil},
		"no device": {wire.Request{Attach: &wire.Attach{
			ID:   "a",
			Addr: netip.MustParseAddr("172.30.208.2"),
			MAC:  mac,
			MTU:  1500,
		}}, nil},
		"no hardware address": {wire.Request{Attach: &wire.Attach{
			ID:   "a",
			Addr: netip.MustParseAddr("172.30.208.2"),
			MTU:  1500,
		}}, file()},
		"another subnet": {wire.Request{Attach: &wire.Attach{
			ID:   "a",
			Addr: netip.MustParseAddr("10.0.0.2"),
			MAC:  mac,
			MTU:  1500,
		}}, file()},
		"the gateway's address": {wire.Request{Attach: &wire.Attach{
			ID:   "a",
			Addr: netip.MustParseAddr("172.30.208.1"),
			MAC:  mac,
			MTU:  1500,
		}}, file()},
		"no address": {wire.Request{Attach: &wire.Attach{
			ID:  "a",
			MAC: mac,
			MTU: 1500,
		}}, file()},
		"a port of nobody": {wire.Request{Publish: &wire.Publish{
			ID:       "a",
			Protocol: wire.TCP,
			Port:     80,
		}}, file()},
		"a file that is of none": {wire.Request{Detach: "a"}, file()},
	} {
		if err := s.answer(tc.request, tc.file); err == nil {
			t.Errorf("%s: it was carried out", name)
		}
	}

	if len(s.containers)+len(s.addrs) > 0 {
		t.Errorf("there are containers: %v", s.containers)
	}
	if err := s.answer(wire.Request{Detach: "nobody"}, nil); err != nil {
		t.Errorf("one that is not there leaves: %v", err)
	}
}

// TestOwnAnswer asks for names of containers, in any case and of any type, and for what is none.
func TestOwnAnswer(t *testing.T) {
	c := &container{addr: netip.MustParseAddr("172.30.208.2"), names: []string{"Web", "0123456789ab"}}
	later := &container{addr: netip.MustParseAddr("172.30.208.3"), names: []string{"web"}}
	s := &server{containers: map[string]*container{"one": c, "two": later}}
	question := func(name string, kind dnsmessage.Type) []byte {
		h := dnsmessage.Header{ID: 7, RecursionDesired: true}
		m := dnsmessage.Message{Header: h, Questions: []dnsmessage.Question{
			{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET},
		}}
		packed, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}

	for _, tc := range []struct {
		name    string
		kind    dnsmessage.Type
		known   bool
		answers int
	}{
		{"web.", dnsmessage.TypeA, true, 1},
		{"WEB.", dnsmessage.TypeALL, true, 1},
		{"0123456789ab.", dnsmessage.TypeA, true, 1},
		{"web.", dnsmessage.TypeAAAA, true, 0},
		{"web.example.com.", dnsmessage.TypeA, false, 0},
		{".", dnsmessage.TypeA, false, 0},
	} {
		reply := s.ownAnswer(question(tc.name, tc.kind))
		if (reply != nil) != tc.known {
			t.Errorf("%s %v: %q", tc.name, tc.kind, reply)
			continue
		}
		if !tc.known {
			continue
		}

		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || m.ID != 7 || !m.Response || m.RCode != dnsmessage.RCodeSuccess ||
			len(m.Answers) != tc.answers {
			t.Errorf("%s %v: %v, %+v", tc.name, tc.kind, err, m)
		}

		for _, a := range m.Answers {
			if body, ok := a.Body.(*dnsmessage.AResource); !ok || body.A != c.addr.As4() {
				t.Errorf("%s is %v", tc.name, a.Body)
			}
		}
	}

	whole := question("web.", dnsmessage.TypeA)
	for n := range whole {
		if reply := s.ownAnswer(whole[:n]); reply != nil {
			t.Errorf("the first %d bytes of a question are answered", n)
		}
	}

	if reply := s.ownAnswer([]byte(strings.Repeat("\xc0", 64))); reply != nil {
		t.Error("what is no question is answered")
	}
}

// TestSlots holds that nobody takes more than its own, nor than is left of all, and that what was freed can be taken.
func TestSlots(t *testing.T) {
	all := make(chan struct{}, 3)
	one, two := newSlots(2, all), newSlots(2, all)
	//nolint:staticcheck // each call takes one
	if !one.take() || !one.take() || one.take() {
		t.Error("one does not have its two")
	}
	if !two.take() || two.take() {
		t.Error("another does not have the one that is left")
	}

	one.free()
	if !two.take() || one.take() {
		t.Error("what was freed is not there for another, or for two")
	}
	if alone := newSlots(1, nil); !alone.take() || alone.take() {
		t.Error("one without others does not have its one")
	}
}

// TestBusyUDP holds that a packet beyond a container's flows is dropped before it is looked at: it asks nothing of the
// machine.
func TestBusyUDP(t *testing.T) {
	c := &container{flowsOut: newSlots(0, nil)}
	if !c.forwardUDP(nil) {
		t.Error("the container is told that nobody is there")
	}
}

// TestAttachTwice holds that a container takes neither another's id nor its address, which is its own until it leaves.
func TestAttachTwice(t *testing.T) {
	s := newServer()
	begin := &wire.Begin{Subnet: netip.MustParsePrefix("172.30.208.1/20")}
	if err := s.answer(wire.Request{Begin: begin}, nil); err != nil {
		t.Fatal(err)
	}
	defer s.close()

	attach := func(id, addr string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fds[1]) })
		return s.answer(wire.Request{Attach: &wire.Attach{
			ID: id, Addr: netip.MustParseAddr(addr), MAC: "00:15:5d:00:00:02", MTU: 1500,
		}}, os.NewFile(uintptr(fds[0]), "tap"))
	}

	if err := attach("a", "172.30.208.2"); err != nil {
		t.Fatal(err)
	}
	if attach("b", "172.30.208.2") == nil || attach("a", "172.30.208.3") == nil {
		t.Error("another has its address or id")
	}
	if err := s.answer(wire.Request{Detach: "b"}, nil); err != nil {
		t.Fatal(err)
	}

	if c := s.peer(netip.MustParseAddr("172.30.208.2")); c == nil || c != s.containers["a"] {
		t.Error("the container has lost its address")
	}
	if err := s.answer(wire.Request{Detach: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := attach("b", "172.30.208.2"); err != nil {
		t.Errorf("after it has left: %v", err)
	}
}
