//go:build kernel

package dataplane_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane"
)

// An address of a pod holds so many connections to the node's own ports, and others reach them meanwhile. Those that it
// has closed count no more, and other ports have no such bound.
func TestGuard(t *testing.T) {
	for family, a := range map[string]struct{ pods, pod, other string }{
		"IPv4": {"10.244.1.0/24", "10.244.1.5", "10.213.0.1"},
		"IPv6": {"fd00:244::/64", "fd00:244::5", "fd00:213::1"},
	} {
		t.Run(family, func(t *testing.T) {
			ns := netnstest.New(t, "host")
			for _, addr := range []string{a.pod, a.other} {
				run(t, ns, "ip link set lo up; ip addr add "+addr+" dev lo nodad")
			}

			own, free := hold(t, ns, a.other), hold(t, ns, a.other)
			own.answers(t, a.pod)
			before := own.open(t, a.pod, dataplane.MostOfPod+10)
			if len(before) != dataplane.MostOfPod+10 {
				t.Fatalf("control: without the rules an address holds %d", len(before))
			}
			closeAll(before)

			pods := []netip.Prefix{netip.MustParsePrefix(a.pods), {}}
			guard := func(pin string) error { return dataplane.Guard(t.Context(), pin, pods, []uint16{own.port}) }
			if err := guard(ns); err != nil {
				t.Fatal(err)
			}
			// An agent that starts anew sets them anew. It is in the host's namespace.
			if err := netns.Do(ns, func() error { return guard("") }); err != nil {
				t.Fatal(err)
			}

			held := own.open(t, a.pod, dataplane.MostOfPod+10)
			if len(held) != dataplane.MostOfPod {
				t.Errorf("a pod holds %d, want %d", len(held), dataplane.MostOfPod)
			}
			if n := len(free.open(t, a.pod, dataplane.MostOfPod+10)); n != dataplane.MostOfPod+10 {
				t.Errorf("of another port a pod holds %d", n)
			}

			if n := len(own.open(t, a.other, dataplane.MostOfOther+10)); n != dataplane.MostOfOther {
				t.Errorf("another address holds %d, want %d", n, dataplane.MostOfOther)
			}

			closeAll(held)
			own.answers(t, a.pod) // those that are closed count no more
		})
	}
}

// holder is a server that accepts connections, and says nothing.
type holder struct {
	ns, addr string
	port     uint16
}

func hold(t *testing.T, ns, addr string) holder {
	t.Helper()
	var l net.Listener
	err := netns.Do(ns, func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(addr, "0"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	var taken []net.Conn
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		closeAll(taken)
	})

	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken = append(taken, c)
		}
	}()

	at := netip.MustParseAddrPort(l.Addr().String())
	return holder{
		ns:   ns,
		addr: l.Addr().String(),
		port: at.Port(),
	}
}

// open opens connections from an address until that many are open, or one is refused.
func (h holder) open(t *testing.T, from string, most int) (all []net.Conn) {
	t.Helper()
	dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	_ = netns.Do(h.ns, func() error {
		for len(all) < most {
			c, err := dialer.DialContext(t.Context(), "tcp", h.addr)
			if err != nil {
				return err
			}
			all = append(all, c)
		}
		return nil
	})
	t.Cleanup(func() { closeAll(all) })

	return all
}

// answers waits until an address gets a connection, and closes it: one that was just added takes a moment.
func (h holder) answers(t *testing.T, from string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(50 * time.Millisecond) {
		if got := h.open(t, from, 1); len(got) > 0 {
			closeAll(got)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s gets no connection to %s", from, h.addr)
		}
	}
}

// closeAll ends connections at once, without a time to wait.
func closeAll(all []net.Conn) {
	for _, c := range all {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}
