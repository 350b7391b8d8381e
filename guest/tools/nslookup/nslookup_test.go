package nslookup

import (
	"encoding/binary"
	"errors"
	"flag"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

var update = flag.Bool("update", false, "rewrite what the programs print in testdata")

// fake is a Windows whose only name server is that of the tests.
type fake struct {
	adapters []program.Adapter
}

func (w *fake) Adapters() ([]program.Adapter, error) { return w.adapters, nil }

func (w *fake) Resolve(name string) (netip.Addr, error) {
	if name == "dns" {
		name = "127.0.0.53"
	}
	return netip.ParseAddr(name)
}

func (w *fake) Dial(network string, to netip.AddrPort, _ time.Duration) (net.Conn, error) {
	if to.String() != "127.0.0.53:53" {
		return nil, syscall.ECONNREFUSED
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		serve(theirs, network == "tcp")
	}()
	return ours, nil
}

// serve answers the messages that come over a connection. A write is a datagram.
func serve(conn net.Conn, tcp bool) {
	buffer := make([]byte, mostBytes)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		message := buffer[:n]
		if tcp {
			message = message[2:]
		}

		for _, one := range answer(message, tcp) {
			if tcp {
				one = append(binary.BigEndian.AppendUint16(nil, uint16(len(one))), one...)
			}
			if _, err := conn.Write(one); err != nil {
				return
			}
		}

		if tcp {
			return
		}
	}
}

type result = programtest.Result

// run runs nslookup on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

// TestGoldens runs the command lines in testdata. The texts there were first written by the program in C that was here
// before, for the same adapters and the same name server under Wine.
func TestGoldens(t *testing.T) {
	programtest.Goldens(t, *update, func(t *testing.T, input string, args ...string) result {
		t.Helper()
		return run(t, &fake{adapters: programtest.Adapters()}, input, args...)
	}, "nslookup.txtar")
}

func TestNslookup(t *testing.T) {
	const head = "Server:  dns.test\nAddress:  127.0.0.53\n\n"
	const found = "Name:    one.svc.test\nAddress:  192.0.2.1\n\n"
	strange := func(server string) []program.Adapter {
		return []program.Adapter{{Servers: []netip.Addr{netip.MustParseAddr(server)}}}
	}

	for _, tc := range []struct {
		name, line string
		adapters   []program.Adapter
		want       result
	}{
		{"no_server", "nslookup one", nil, result{Code: 1, Err: "*** Default servers are not available\n"}},
		{"no_suffix", "nslookup one dns", nil, result{
			Code: 1,
			Out:  head,
			Err:  "*** dns.test can't find one: Non-existent domain\n",
		}},
		{"server_by_name", "nslookup one dns", programtest.Adapters(), result{Out: head + found}},
		{
			"second_adapter", "nslookup one",
			[]program.Adapter{{Suffix: "svc.test"}, {Suffix: "other", Servers: programtest.Adapters()[1].Servers}},
			result{Out: head + found},
		},
		{"no_connection", "nslookup one", strange("192.0.2.77"), result{
			Code: 1,
			Out:  "Server:  UnKnown\nAddress:  192.0.2.77\n\n",
			Err:  "*** UnKnown can't find one: No response from server\n",
		}},
		{"zone", "nslookup 192.0.2.1", strange("fe80::1%3"), result{
			Code: 1,
			Out:  "Server:  UnKnown\nAddress:  fe80::1%3\n\n",
			Err:  "*** UnKnown can't find 192.0.2.1: No response from server\n",
		}},
		{"long", "nslookup " + strings.Repeat("a", 300), programtest.Adapters(), result{
			Code: 1,
			Out:  head,
			Err:  "*** dns.test can't find " + strings.Repeat("a", 300) + ": Non-existent domain\n",
		}},
		{"dots_in_labels", "nslookup -type=any dotted.example", programtest.Adapters(), result{Out: head + "Non-authoritative answer:\ndotted.example\t??? unreadable record of type 6 ???\n" +
			"dotted.example\t??? unreadable record of type 15 ???\ndotted.example\ttext =\n\n\t\"after\"\n\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := programtest.Alone(t, func(t *testing.T) result {
				t.Helper()
				return run(t, &fake{adapters: tc.adapters}, "", strings.Fields(tc.line)...)
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNslookupWaits checks how long nslookup waits for a server that does not answer: two seconds, then four.
func TestNslookupWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := ask(&fake{}, netip.MustParseAddr("127.0.0.53"), "silent.example", dnsmessage.TypeA)
		if took := time.Since(begin); !errors.Is(err, errNoReply) || took != 6*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestReverseName(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":        "1.2.0.192.in-addr.arpa",
		"2001:db8::12":     "2.1." + strings.Repeat("0.", 22) + "8.b.d.0.1.0.0.2.ip6.arpa",
		"::ffff:192.0.2.1": "1.0.2.0.0.0.0.c.f.f.f.f." + strings.Repeat("0.", 20) + "ip6.arpa",
		"fe80::1%2":        "",
	} {
		if got, ok := reverseName(netip.MustParseAddr(address)); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", address, got, ok, want)
		}
	}
}

// FuzzReply gives nslookup what no server may send; whatever it prints is plain text.
func FuzzReply(f *testing.F) {
	question, err := newQuestion("one.svc.test", dnsmessage.TypeALL)
	if err != nil {
		f.Fatal(err)
	}

	question.ID = 1
	for name := range zone {
		m := question
		m.Response = true
		m.Answers = answers(name, dnsmessage.TypeALL)
		message, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}

	f.Fuzz(func(t *testing.T, message []byte) {
		r, ok := readReply(message, question)
		if !ok {
			return
		}

		var out strings.Builder
		e := program.Env{Stdout: &out}
		printHost(e, r, r)
		if printRecords(e, r) != r.any {
			t.Error("records were printed, or not, against what the reply says")
		}

		for _, c := range []byte(out.String()) {
			if (c < ' ' || c >= 0x7f) && !strings.ContainsRune("\r\n\t", rune(c)) {
				t.Errorf("the byte %#x was printed: %q", c, out.String())
			}
		}
	})
}
