package dnsproxy_test

import (
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/internal/network/dnsproxy"
)

// One pod that asks without an end, of names for which no server answers, and holds connections open, leaves its
// neighbours their answers.
func TestGreedyClient(t *testing.T) {
	silent, _ := server(t, false)
	packets, streams := free(t)
	at := streams.Addr().String()
	p := dnsproxy.Serve(dnsproxy.Config{
		Servers: func() []netip.AddrPort { return []netip.AddrPort{silent} },
		Own:     answerOf(t, "name.example."),
	}, packets, streams)

	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})

	greedy := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for range 200 {
		c, err := greedy.DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}

	flood(t, at)

	for _, network := range []string{"tcp", "udp"} {
		for range 10 {
			if got, err := lookup(t, netip.MustParseAddrPort(at), network); err != nil || len(got) != 1 {
				t.Fatalf("beside a greedy client a neighbour gets by %s: %q, %v", network, got, err)
			}
		}
	}
}

// flood asks for another name from 127.0.0.2, until the test ends.
func flood(t *testing.T, at string) {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext(t.Context(), "udp", at)
	if err != nil {
		t.Fatal(err)
	}

	m := dnsmessage.Message{Questions: []dnsmessage.Question{{
		Name:  dnsmessage.MustNewName("slow.example."),
		Type:  dnsmessage.TypeA,
		Class: dnsmessage.ClassINET,
	}}}
	question, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}

	for range 1000 { // more than there are places, before the neighbour asks
		_, _ = c.Write(question)
	}

	var sending sync.WaitGroup
	ended := make(chan struct{})
	sending.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				_, _ = c.Write(question)
			}
		}
	})

	t.Cleanup(func() {
		close(ended)
		sending.Wait()
		_ = c.Close()
	})
}

// answerOf answers questions about one name.
func answerOf(t *testing.T, name string) func(question []byte) []byte {
	t.Helper()
	return func(question []byte) []byte {
		var q dnsmessage.Message
		if q.Unpack(question) != nil || q.Questions[0].Name.String() != name {
			return nil
		}

		q.Response, q.Additionals = true, nil
		if q.Questions[0].Type == dnsmessage.TypeA {
			q.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: [4]byte{192, 0, 2, 7}},
			}}
		}

		out, err := q.Pack()
		if err != nil {
			return nil
		}
		return out
	}
}
