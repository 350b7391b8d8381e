package dnsproxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dnsproxy"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// server returns a name server that answers every question with 192.0.2.7 if it knows, and nothing else.
func server(t *testing.T, knows bool) (at netip.AddrPort, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	packets, streams := free(t)
	t.Cleanup(func() { _ = packets.Close(); _ = streams.Close() })

	reply := func(m []byte) []byte {
		asked.Add(1)
		var q dnsmessage.Message
		if q.Unpack(m) != nil || !knows {
			return nil
		}

		q.Response, q.RCode = true, dnsmessage.RCodeSuccess
		q.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 7}},
		}}
		out, _ := q.Pack()
		return out
	}

	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}

			if out := reply(buf[:n]); out != nil {
				forged := bytes.Clone(out)
				forged[0]++ // one that does not answer what was asked comes first
				_, _ = packets.WriteTo(forged, from)
				_, _ = packets.WriteTo(out, from)
			}
		}
	}()

	go func() {
		for {
			c, err := streams.Accept()
			if err != nil {
				return
			}

			var length [2]byte
			_, _ = io.ReadFull(c, length[:])
			m := make([]byte, int(length[0])<<8|int(length[1]))
			_, _ = io.ReadFull(c, m)
			if out := reply(m); out != nil {
				_, _ = c.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			}
			_ = c.Close()
		}
	}()

	return streams.Addr().(*net.TCPAddr).AddrPort(), asked
}

// free listens on a port of the loopback that is free for both protocols.
func free(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 {
		l, err := net.Listen("tcp4", loopback.String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.ListenPacket("udp4", l.Addr().String())
		if err == nil {
			return c, l
		}
		_ = l.Close()
	}

	t.Fatal("no port is free")
	return nil, nil
}

func start(t *testing.T, servers ...netip.AddrPort) netip.AddrPort {
	t.Helper()
	c, l := free(t)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	_, _ = c.Close(), l.Close()
	p, err := dnsproxy.Listen(dnsproxy.Config{
		At:      []netip.AddrPort{at},
		Servers: func() []netip.AddrPort { return servers },
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})

	return at
}

func lookup(t *testing.T, at netip.AddrPort, network string) ([]string, error) {
	t.Helper()
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at.String())
	}}
	return r.LookupHost(t.Context(), "name.example.")
}

func TestProxy(t *testing.T) {
	good, goodAsked := server(t, true)
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			silent, silentAsked := server(t, false)
			got, err := lookup(t, start(t, silent, good), network)
			if err != nil || !slices.Equal(got, []string{"192.0.2.7"}) {
				t.Errorf("name.example. is %q, %v", got, err)
			}
			if silentAsked.Load() == 0 || goodAsked.Load() == 0 {
				t.Error("a server was not asked")
			}

			_, err = lookup(t, start(t), network)
			if e, ok := errors.AsType[*net.DNSError](err); !ok || !e.IsTemporary {
				t.Errorf("without a server: %v", err)
			}
		})
	}
}

// What is no question is not passed on, and does no harm.
func TestHostileQuestions(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	good, asked := server(t, true)
	at := start(t, good)
	header := func(flags, questions byte) []byte { return []byte{1, 2, flags, 0, 0, questions, 0, 0, 0, 0, 0, 0} }
	bad := map[string][]byte{
		"empty":          {},
		"short":          {1, 2, 3},
		"header-only":    header(1, 1),
		"a-reply":        append(header(0x81, 1), 0, 0, 1, 0, 1),
		"no-question":    append(header(1, 0), 0, 0, 1, 0, 1),
		"two-questions":  append(header(1, 2), 0, 0, 1, 0, 1, 0, 0, 1, 0, 1),
		"pointer":        append(header(1, 1), 0xc0, 12, 0, 1, 0, 1),
		"label-too-long": append(header(1, 1), append([]byte{64}, make([]byte, 80)...)...),
		"label-beyond":   append(header(1, 1), 63, 'a'),
		"cut-off":        append(header(1, 1), 1, 'a', 0, 0, 1),
	}

	for name, m := range bad {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("udp", at.String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := c.Write(m); err != nil {
				t.Fatal(err)
			}

			s, err := net.Dial("tcp", at.String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			_ = s.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = s.Write(append([]byte{byte(len(m) >> 8), byte(len(m))}, m...))
			if n, err := s.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("the connection answers: %d, %v", n, err)
			}
		})
	}

	if n := asked.Load(); n != 0 {
		t.Errorf("%d of them were passed on", n)
	}
	if got, err := lookup(t, at, "udp"); err != nil || len(got) != 1 {
		t.Errorf("after them: %q, %v", got, err)
	}
}

// TestRefused asks for what a server may grant the host, and no pod is to have: it is answered and not passed on.
func TestRefused(t *testing.T) {
	good, asked := server(t, true)
	at := start(t, good)
	query := func(opcode, kind byte) []byte {
		return []byte{1, 2, opcode<<3 | 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, kind, 0, 1}
	}

	for name, tc := range map[string]struct {
		query []byte
		want  dnsmessage.RCode
	}{
		"inverse query": {query(1, 1), dnsmessage.RCodeNotImplemented},
		"status":        {query(2, 1), dnsmessage.RCodeNotImplemented},
		"notify":        {query(4, 6), dnsmessage.RCodeNotImplemented},
		"update":        {query(5, 6), dnsmessage.RCodeNotImplemented},
		"last opcode":   {query(15, 1), dnsmessage.RCodeNotImplemented},
		"IXFR":          {query(0, 251), dnsmessage.RCodeRefused},
		"AXFR":          {query(0, 252), dnsmessage.RCodeRefused},
		"update, AXFR":  {query(5, 252), dnsmessage.RCodeNotImplemented},
	} {
		for _, network := range []string{"udp", "tcp"} {
			c, err := net.Dial(network, at.String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			sent := tc.query
			if network == "tcp" {
				sent = append([]byte{0, byte(len(sent))}, sent...)
			}

			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}

			answer := make([]byte, 512)
			n, err := c.Read(answer)
			answer = answer[:n]
			if network == "tcp" {
				answer = answer[min(2, n):]
			}

			var got dnsmessage.Message
			if err != nil || got.Unpack(answer) != nil || !got.Response || got.ID != 0x102 || got.RCode != tc.want {
				t.Errorf("%s by %s: %v, %+v", name, network, err, got.Header)
			}
		}
	}

	if n := asked.Load(); n != 0 {
		t.Errorf("%d of them were passed on", n)
	}
	if got, err := lookup(t, at, "udp"); err != nil || len(got) != 1 {
		t.Errorf("after them: %q, %v", got, err)
	}
}

// TestOwn answers at sockets of the caller's: what the caller answers itself no server is asked.
func TestOwn(t *testing.T) {
	at, asked := server(t, true)
	packets, streams := free(t)
	p := dnsproxy.Serve(dnsproxy.Config{
		Servers: func() []netip.AddrPort { return []netip.AddrPort{at} },
		Own: func(question []byte) []byte {
			var q dnsmessage.Message
			if q.Unpack(question) != nil || q.Questions[0].Name.String() != "own." {
				return nil
			}
			q.Response, q.RCode = true, dnsmessage.RCodeRefused
			out, _ := q.Pack()
			return out
		},
	}, packets, streams)

	for name, want := range map[string]struct {
		code  dnsmessage.RCode
		asked int32
	}{"own.": {dnsmessage.RCodeRefused, 0}, "other.": {dnsmessage.RCodeSuccess, 1}} {
		asked.Store(0)
		c, err := net.Dial("udp", packets.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		q := dnsmessage.Message{Questions: []dnsmessage.Question{
			{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
		}}

		packed, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}

		answer := make([]byte, 512)
		if _, err := c.Write(packed); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(answer)
		var got dnsmessage.Message
		if err != nil || got.Unpack(answer[:n]) != nil || got.RCode != want.code || asked.Load() != want.asked {
			t.Errorf("%s: %v, %v, %d times asked", name, err, got.RCode, asked.Load())
		}
	}

	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := streams.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the sockets are open after the end: %v", err)
	}
}
