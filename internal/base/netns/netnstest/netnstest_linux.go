// Package netnstest gives tests scratch network namespaces and real traffic between them. Only tests import it.
package netnstest

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
)

// New pins a fresh namespace for the test and removes it afterwards.
func New(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if _, err := netns.Ensure(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Remove(path); err != nil {
			t.Error(err)
		}
	})
	return path
}

// Server is a TCP and UDP server that answers with its name and the caller's address as it sees it.
type Server struct {
	Addr   netip.AddrPort
	closed atomic.Bool
}

// Serve starts a Server in the namespace, on the same port for TCP and UDP, until the test ends.
func Serve(t *testing.T, ns, name, addr string) *Server {
	t.Helper()
	s := &Server{Addr: netip.MustParseAddrPort(addr)}
	var l net.Listener
	var p net.PacketConn
	err := netns.Do(ns, func() error {
		var config net.ListenConfig
		var err error
		if l, err = config.Listen(t.Context(), "tcp", addr); err != nil {
			return err
		}
		p, err = config.ListenPacket(t.Context(), "udp", addr)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { s.closed.Store(true); _ = l.Close(); _ = p.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "%s %s\n", name, c.RemoteAddr())
			_ = c.Close()
		}
	}()

	go func() {
		b := make([]byte, 2048)
		for {
			_, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(fmt.Appendf(nil, "%s %s\n", name, from), from)
		}
	}()

	return s
}

// Ask calls the address from within the namespace over "tcp" or "udp", of the address's family, and returns who
// answered and the address that the server saw.
func Ask(ns, network, addr string, timeout time.Duration) (name string, seen netip.Addr, err error) {
	var c net.Conn
	err = netns.Do(ns, func() error {
		c, err = (&net.Dialer{Timeout: timeout}).Dial(network, addr)
		return err
	})
	if err != nil {
		return "", netip.Addr{}, err
	}
	defer func() { _ = c.Close() }()

	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", netip.Addr{}, err
	}
	if strings.HasPrefix(network, "udp") {
		if _, err := c.Write([]byte("?")); err != nil {
			return "", netip.Addr{}, err
		}
	}

	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "", netip.Addr{}, err
	}
	name, from, _ := strings.Cut(strings.TrimSpace(line), " ")
	ap, err := netip.ParseAddrPort(from)
	return name, ap.Addr(), err
}

// Flow checks that a call over TCP and UDP reaches the named server, which sees it come from the address (any, if "").
func Flow(t *testing.T, ns, addr, wantName, wantSeen string) {
	t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		name, seen, err := Ask(ns, network, addr, 3*time.Second)
		switch {
		case err != nil:
			t.Errorf("%s to %s: %v", network, addr, err)
		case name != wantName || (wantSeen != "" && seen.String() != wantSeen):
			t.Errorf("%s to %s: answered by %q which saw %s; want %q, %s", network, addr, name, seen, wantName,
				wantSeen)
		}
	}
}

// NoFlow checks that a call over TCP and UDP gets no answer.
func NoFlow(t *testing.T, ns, addr string) {
	t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		if name, seen, err := Ask(ns, network, addr, 300*time.Millisecond); err == nil {
			t.Errorf("%s to %s: answered by %q which saw %s; want no answer", network, addr, name, seen)
		}
	}
}
