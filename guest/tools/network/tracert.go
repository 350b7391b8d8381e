package network

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winnet"
)

// Tracing is what tracert needs of Windows.
type Tracing interface {
	// Addresses returns the addresses of a host, by its name or an address.
	Addresses(host string) ([]netip.Addr, error)
	// Named returns the name of an address, "" if it has none.
	Named(a netip.Addr) string
	// Ping asks an address, and waits for the answer.
	Ping(to netip.Addr, p winnet.Ping) (winnet.Echo, error)
}

// ThisTracing is the network of the Windows that the program runs on.
func ThisTracing() Tracing { return local{} }

// Addresses implements Tracing.
func (local) Addresses(host string) ([]netip.Addr, error) {
	names, err := net.LookupHost(host)
	var all []netip.Addr
	for _, name := range names {
		if a, err := netip.ParseAddr(name); err == nil {
			all = append(all, a.Unmap())
		}
	}
	return all, err
}

// Named implements Tracing.
func (local) Named(a netip.Addr) string {
	names, err := net.LookupAddr(a.String())
	if err != nil || len(names) == 0 {
		return ""
	}
	return strings.TrimSuffix(names[0], ".")
}

// Ping implements Tracing.
func (local) Ping(to netip.Addr, p winnet.Ping) (winnet.Echo, error) { return winnet.SendEcho(to, p) }

const (
	usualHops     = 30
	usualPatience = 4 * time.Second
	tries         = 3
	tracedBytes   = 64
)

// trace is what tracert was asked for.
type trace struct {
	e        program.Env
	sys      Tracing
	target   string
	numbers  bool // names are not looked up
	hops     int
	patience time.Duration
	six      string // the family, "4" or "6"; "": IPv4 where there is one, as of ping
}

// Tracert is tracert.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/tracert): it asks
// a host with one router more on the way each time, until the host itself answers.
func Tracert(e program.Env, sys Tracing, args []string) int {
	t := trace{
		e:        e,
		sys:      sys,
		hops:     usualHops,
		patience: usualPatience,
	}
	if code, ends := t.read(args); ends {
		return code
	}

	all, err := sys.Addresses(t.target)
	to, found := t.choose(all)
	if err != nil || !found {
		e.Print("Unable to resolve target system name %s.", t.target)
		return 1
	}
	t.head(to)
	return t.run(to)
}

// read reads the arguments; ends says that the program is over.
func (t *trace) read(args []string) (code int, ends bool) {
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		if !is {
			if t.target != "" {
				t.e.Print("A target name or address must be specified.")
				return 1, true
			}
			t.target = args[i]
			continue
		}

		switch name {
		case "d":
			t.numbers = true
		case "4", "6":
			t.six = name
		case "h", "w":
			if i++; i == len(args) {
				t.e.Print("A value must be supplied for option -%s.", name)
				return 1, true
			}
			if !t.number(name, args[i]) {
				t.e.Print("Bad value for option -%s.", name)
				return 1, true
			}
		default:
			if name != "?" {
				t.e.Print("%s is not a valid command option.", args[i])
			}
			t.usage()
			return 1, true
		}
	}
	if t.target == "" {
		t.usage()
		return 1, true
	}
	return 0, false
}

// number sets the value of an option.
func (t *trace) number(name, text string) bool {
	const mostHops, mostWait = 255, 1 << 31
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || n < 1:
		return false
	case name == "h":
		t.hops = int(min(n, mostHops+1))
		return n <= mostHops
	}
	t.patience = time.Duration(min(n, mostWait)) * time.Millisecond
	return n < mostWait
}

func (t *trace) usage() {
	t.e.Print("\r\nUsage: tracert [-d] [-h maximum_hops] [-w timeout] [-4] [-6] target_name\r\n\r\n" +
		"Options:\r\n" +
		"    -d                 Do not resolve addresses to hostnames.\r\n" +
		"    -h maximum_hops    Maximum number of hops to search for target.\r\n" +
		"    -w timeout         Wait timeout milliseconds for each reply.\r\n" +
		"    -4                 Force using IPv4.\r\n" +
		"    -6                 Force using IPv6.")
}

// choose returns the address that is traced.
func (t *trace) choose(all []netip.Addr) (netip.Addr, bool) {
	for _, family := range []string{"4", "6"} {
		for _, a := range all {
			if (t.six == "" || t.six == family) && a.Is4() == (family == "4") {
				return a, true
			}
		}
	}
	return netip.Addr{}, false
}

// head prints where the way leads: an address with its name, if it has one.
func (t *trace) head(to netip.Addr) {
	name := t.target
	if _, err := netip.ParseAddr(t.target); err == nil {
		name = ""
		if !t.numbers {
			name = t.sys.Named(to)
		}
	}
	if name == "" {
		t.e.Print("\r\nTracing route to %s over a maximum of %d hops\r\n", to, t.hops)
		return
	}
	t.e.Print("\r\nTracing route to %s [%s]\r\nover a maximum of %d hops:\r\n", name, to, t.hops)
}

// run asks with each number of routers. A way that ends before the host is told by its status.
func (t *trace) run(to netip.Addr) int {
	for hop := 1; hop <= t.hops; hop++ {
		fmt.Fprintf(t.e.Stdout, "%3d", hop)
		var last winnet.Echo
		for range tries {
			got, err := t.sys.Ping(to, winnet.Ping{
				Size:     tracedBytes,
				TTL:      hop,
				Patience: t.patience,
			})
			if err != nil {
				t.e.Print("  General failure.\r\n\r\nTrace complete.")
				return 1
			}
			fmt.Fprint(t.e.Stdout, column(got))
			if last.From == (netip.Addr{}) || got.Status != winnet.EchoTimedOut {
				last = got
			}
		}

		switch last.Status {
		case 0:
			t.e.Print("  %s \r\n\r\nTrace complete.", t.shown(last.From))
			return 0
		case winnet.EchoTTLExpired:
			t.e.Print("  %s ", t.shown(last.From))
		case winnet.EchoTimedOut:
			t.e.Print("  Request timed out.")
		default:
			t.e.Print("  %s  reports: %s\r\n\r\nTrace complete.", t.shown(last.From), reported(last.Status))
			return 1
		}
	}
	t.e.Print("\r\nTrace complete.")
	return 0
}

// column is the time of an answer, or * where there is none.
func column(got winnet.Echo) string {
	switch ms := got.Took.Milliseconds(); {
	case got.Status == winnet.EchoTimedOut:
		return "     *   "
	case ms < 1:
		return "    <1 ms"
	default:
		return fmt.Sprintf("%6d ms", ms)
	}
}

// shown returns an address with its name, if it has one and names are looked up.
func (t *trace) shown(a netip.Addr) string {
	if !t.numbers {
		if name := t.sys.Named(a); name != "" {
			return name + " [" + a.String() + "]"
		}
	}
	return a.String()
}

// reported returns what a router says of a ping that it has not passed on.
func reported(status uint32) string {
	const network, host, protocol, port = 11002, 11003, 11004, 11005
	switch status {
	case network:
		return "Destination net unreachable."
	case host:
		return "Destination host unreachable."
	case protocol:
		return "Destination protocol unreachable."
	case port:
		return "Destination port unreachable."
	}
	return fmt.Sprintf("status %d.", status)
}
