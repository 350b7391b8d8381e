package tools

import (
	"net/netip"
	"testing"

	"mullion.dev/mullion/guest/winnet"
)

func socket(protocol, local, remote string, state, pid uint32) winnet.Socket {
	s := winnet.Socket{Protocol: protocol, Local: netip.MustParseAddrPort(local), State: state, PID: pid}
	if remote != "" {
		s.Remote = netip.MustParseAddrPort(remote)
	}
	return s
}

// Sockets, Routes, Traffic, Protocols and Reverse make a fake a Tables.
func (w *fake) Sockets() ([]winnet.Socket, error) {
	return []winnet.Socket{
		socket("UDP", "0.0.0.0:5353", "", 0, 8), socket("TCP", "0.0.0.0:80", "0.0.0.0:4711", 2, 4),
		socket("TCP", "192.0.2.100:49152", "192.0.2.7:443", 5, 8), socket("TCP", "127.0.0.1:80", "127.0.0.1:49153", 11, 0),
		socket("TCP", "192.0.2.100:49154", "198.51.100.9:8080", 3, 8),
		socket("TCP", "[::]:80", "[::]:0", 2, 4), socket("UDP", "[fe80::1%3]:546", "", 0, 99),
	}, w.err
}

func (w *fake) Routes() ([]winnet.Route, error) {
	at := func(index uint32, prefix, hop string, metric uint32) winnet.Route {
		to, by := netip.MustParsePrefix(prefix), netip.MustParseAddr(hop)
		return winnet.Route{Index: index, Prefix: to, Hop: by, Metric: metric}
	}
	return []winnet.Route{
		at(3, "192.0.2.0/20", "0.0.0.0", 256), at(1, "127.0.0.0/8", "0.0.0.0", 256), at(3, "0.0.0.0/0", "192.0.2.254", 25),
		at(1, "::1/128", "::", 331), at(3, "2001:db8:1234:5678:9abc::/80", "fe80::ff", 10),
	}, w.err
}

func (w *fake) Traffic() (winnet.Traffic, error) {
	return winnet.Traffic{BytesIn: 123456789, UnicastIn: 1000, BytesOut: 42, ErrorsOut: 1, UnknownIn: 7}, w.err
}

func (w *fake) Protocols(six bool) (winnet.Protocols, error) {
	p := winnet.Protocols{IP: make([]uint32, 23), TCP: make([]uint32, 15), UDP: make([]uint32, 5)}
	for _, values := range [][]uint32{p.IP, p.TCP, p.UDP} {
		for i := range values {
			values[i] = uint32(i)
			if six {
				values[i] += 100
			}
		}
	}
	return p, w.err
}

func (w *fake) Reverse(a netip.Addr) string {
	if a == netip.MustParseAddr("192.0.2.7") {
		return "server.test"
	}
	return ""
}

// TestNoTables checks what netstat and route do when Windows does not answer.
func TestNoTables(t *testing.T) {
	for _, line := range [][]string{{"netstat"}, {"netstat", "-r"}, {"netstat", "-e"}, {"netstat", "-s"}, {"route", "print"}} {
		w := &fake{err: errNoReply}
		if got := run(t, w, "", line...); got.code != 1 || got.err == "" {
			t.Errorf("%v: %+v", line, got)
		}
	}
}
