package tools

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/dns/dnsmessage"
)

var update = flag.Bool("update", false, "rewrite what nslookup and ipconfig print in testdata")

// HostName, Adapters, Resolve and Dial make a fake a Network whose only server is that of the tests.
func (w *fake) HostName() string             { return "win-1" }
func (w *fake) Adapters() ([]Adapter, error) { return w.adapters, w.err }

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

// testAdapters are adapters as Wine has them, the loopback first.
func testAdapters() []Adapter {
	servers := []netip.Addr{netip.MustParseAddr("127.0.0.53"), netip.MustParseAddr("192.0.2.54")}
	address := func(text string, bits int) Address { return Address{IP: netip.MustParseAddr(text), Bits: bits} }
	card := func(n byte, up bool, addresses ...Address) Adapter {
		name := fmt.Sprintf("eth%d", n-1)
		return Adapter{
			Name: name, Description: name, Suffix: "svc.test", Hardware: net.HardwareAddr{2, 0, 0, 0, 0, n}, Up: up,
			Addresses: addresses, Servers: servers,
		}
	}
	first := card(1, true, address("2001:db8::100", 64), address("fe80::1%3", 64), address("fe80::ff:fe00:1%3", 64),
		address("192.0.2.100", 20))
	first.Index = 3
	first.Gateways = []netip.Addr{netip.MustParseAddr("192.0.2.254")}
	return []Adapter{
		{Index: 1, Name: "lo", Description: "lo", Loopback: true, Up: true, Addresses: []Address{address("127.0.0.1", 8)}},
		card(2, true, address("fe80::ff:fe00:2%2", 64), address("10.1.2.3", 32)), first, card(4, false), card(3, false),
	}
}

// TestGoldens runs the command lines in testdata. The texts there were first written by the programs in C that were
// here before, for the same adapters and the same name server under Wine.
func TestGoldens(t *testing.T) {
	for _, file := range []string{"nslookup.txtar", "ipconfig.txtar", "netstat.txtar", "whoami.txtar", "machine.txtar"} {
		path := filepath.Join("testdata", file)
		golden, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range golden.Files {
			t.Run(f.Name, func(t *testing.T) {
				line, input, _ := strings.Cut(f.Name, " < ")
				w := &fake{adapters: testAdapters()}
				got := runAlone(t, w, strings.ReplaceAll(input, " / ", "\r\n"), line).text()
				if *update {
					golden.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Error(diff)
				}
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(golden), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// runAlone runs a command line where time passes only while everything waits.
func runAlone(t *testing.T, w *fake, input, line string) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = run(t, w, input, strings.Fields(line)...) })
	return r
}

// text is a result as it is in testdata.
func (r result) text() string {
	text := r.out
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(r.err) {
		text += "! " + line
	}
	return fmt.Sprintf("%sexit %d\n", text, r.code)
}

func TestNslookup(t *testing.T) {
	const head = "Server:  dns.test\nAddress:  127.0.0.53\n\n"
	const found = "Name:    one.svc.test\nAddress:  192.0.2.1\n\n"
	strange := func(server string) []Adapter { return []Adapter{{Servers: []netip.Addr{netip.MustParseAddr(server)}}} }
	for _, tc := range []struct {
		name, line string
		adapters   []Adapter
		want       result
	}{
		{"no_server", "nslookup one", nil, result{1, "", "*** Default servers are not available\n"}},
		{"no_suffix", "nslookup one dns", nil, result{1, head, "*** dns.test can't find one: Non-existent domain\n"}},
		{"server_by_name", "nslookup one dns", testAdapters(), result{0, head + found, ""}},
		{
			"second_adapter", "nslookup one",
			[]Adapter{{Suffix: "svc.test"}, {Suffix: "other", Servers: testAdapters()[1].Servers}},
			result{0, head + found, ""},
		},
		{"no_connection", "nslookup one", strange("192.0.2.77"), result{
			1, "Server:  UnKnown\nAddress:  192.0.2.77\n\n",
			"*** UnKnown can't find one: No response from server\n",
		}},
		{"zone", "nslookup 192.0.2.1", strange("fe80::1%3"), result{
			1, "Server:  UnKnown\nAddress:  fe80::1%3\n\n",
			"*** UnKnown can't find 192.0.2.1: No response from server\n",
		}},
		{"long", "nslookup " + strings.Repeat("a", 300), testAdapters(), result{
			1, head, "*** dns.test can't find " + strings.Repeat("a", 300) + ": Non-existent domain\n",
		}},
		{"dots_in_labels", "nslookup -type=any dotted.example", testAdapters(), result{
			0, head + "Non-authoritative answer:\ndotted.example\t??? unreadable record of type 6 ???\n" +
				"dotted.example\t??? unreadable record of type 15 ???\ndotted.example\ttext =\n\n\t\"after\"\n\n", "",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := runAlone(t, &fake{adapters: tc.adapters}, "", tc.line)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(result{})); diff != "" {
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

func TestIpconfigErrors(t *testing.T) {
	const head = "\nWindows IP Configuration\n\n"
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("list adapters: %w", syscall.Errno(111)), "error 111"},
		{errors.New("nothing there"), "nothing there"},
	} {
		want := result{1, head, "An internal error occurred: the adapters cannot be listed (" + tc.want + ").\n"}
		if got := run(t, &fake{err: tc.err}, "", "ipconfig"); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if got := run(t, &fake{}, "", "ipconfig", "-FLUSHDNS"); got.code != 0 || !strings.Contains(got.out, "flushed") {
		t.Errorf("%+v", got)
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
		e := Env{Stdout: &out}
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
