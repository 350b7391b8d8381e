package netstat

import (
	"errors"
	"flag"
	"net/netip"
	"testing"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/guest/winnet"
)

var update = flag.Bool("update", false, "rewrite what the programs print in testdata")

// fake is a Windows with tables of its network; of its programs it knows nothing.
type fake struct {
	err error
}

func (w *fake) HostName() string                     { return "win-1" }
func (w *fake) Adapters() ([]program.Adapter, error) { return programtest.Adapters(), w.err }
func (w *fake) Routes() ([]winnet.Route, error)      { return programtest.Routes(), w.err }
func (w *fake) Images() (map[uint32]string, error)   { return nil, w.err }

func socket(protocol, local, remote string, state, pid uint32) winnet.Socket {
	s := winnet.Socket{
		Protocol: protocol,
		Local:    netip.MustParseAddrPort(local),
		State:    state,
		PID:      pid,
	}
	if remote != "" {
		s.Remote = netip.MustParseAddrPort(remote)
	}
	return s
}

func (w *fake) Sockets() ([]winnet.Socket, error) {
	return []winnet.Socket{
		socket("UDP", "0.0.0.0:5353", "", 0, 8), socket("TCP", "0.0.0.0:80", "0.0.0.0:4711", 2, 4),
		socket("TCP", "192.0.2.100:49152", "192.0.2.7:443", 5, 8), socket("TCP", "127.0.0.1:80", "127.0.0.1:49153", 11, 0),
		socket("TCP", "192.0.2.100:49154", "198.51.100.9:8080", 3, 8),
		socket("TCP", "[::]:80", "[::]:0", 2, 4), socket("UDP", "[fe80::1%3]:546", "", 0, 99),
	}, w.err
}

func (w *fake) Traffic() (winnet.Traffic, error) {
	return winnet.Traffic{
		BytesIn:   123456789,
		UnicastIn: 1000,
		BytesOut:  42,
		ErrorsOut: 1,
		UnknownIn: 7,
	}, w.err
}

func (w *fake) Protocols(six bool) (winnet.Protocols, error) {
	p := winnet.Protocols{
		IP:  make([]uint32, 23),
		TCP: make([]uint32, 15),
		UDP: make([]uint32, 5),
	}

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

type result = programtest.Result

// run runs netstat on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

func TestGoldens(t *testing.T) {
	programtest.Goldens(t, *update, func(t *testing.T, input string, args ...string) result {
		t.Helper()
		return run(t, &fake{}, input, args...)
	}, "netstat.txtar")
}

// TestNoTables checks what netstat does when Windows does not answer.
func TestNoTables(t *testing.T) {
	for _, line := range [][]string{{"netstat"}, {"netstat", "-r"}, {"netstat", "-e"}, {"netstat", "-s"}} {
		w := &fake{err: errors.New("no answer")}
		if got := run(t, w, "", line...); got.Code != 1 || got.Err == "" {
			t.Errorf("%v: %+v", line, got)
		}
	}
}
