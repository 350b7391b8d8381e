package network

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/guest/winnet"
)

// way is a network in which the host is behind two routers, of which the second does not answer.
type way struct{}

func (way) Addresses(host string) ([]netip.Addr, error) {
	known := map[string]string{
		"host": "192.0.2.9", "192.0.2.9": "192.0.2.9", "far": "192.0.2.7", "broken": "192.0.2.8", "six": "2001:db8::9",
		"lost": "192.0.2.6",
	}
	if known[host] == "" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr(known[host])}, nil
}

func (way) Named(a netip.Addr) string {
	return map[string]string{"192.0.2.9": "host.test", "10.0.0.1": "gateway.test"}[a.String()]
}

func (way) Ping(to netip.Addr, p winnet.Ping) (winnet.Echo, error) {
	at := netip.MustParseAddr
	switch {
	case to == at("192.0.2.8"):
		return winnet.Echo{}, errors.New("ICMP is not there")
	case to == at("192.0.2.6"):
		return winnet.Echo{Status: winnet.EchoTimedOut}, nil
	case p.TTL == 1:
		return winnet.Echo{From: at("10.0.0.1"), Status: winnet.EchoTTLExpired}, nil
	case p.TTL == 2:
		return winnet.Echo{Status: winnet.EchoTimedOut}, nil
	case to == at("192.0.2.7"):
		return winnet.Echo{
			From:   at("10.0.0.3"),
			Status: 11003,
			Took:   time.Millisecond,
		}, nil
	}
	return winnet.Echo{From: to, Took: 12 * time.Millisecond}, nil
}

// TestTracert has the layout of tracert's page
// (https://learn.microsoft.com/windows-server/administration/windows-commands/tracert).
func TestTracert(t *testing.T) {
	const (
		first  = "  1    <1 ms    <1 ms    <1 ms  gateway.test [10.0.0.1] \n  2     *        *        *     Request timed out.\n"
		bare   = "  1    <1 ms    <1 ms    <1 ms  10.0.0.1 \n  2     *        *        *     Request timed out.\n"
		third  = "  3    12 ms    12 ms    12 ms  "
		whole  = "\nTrace complete.\n"
		silent = "     *        *        *     Request timed out.\n"
	)
	for line, want := range map[string]programtest.Result{
		"host":         {Out: "\nTracing route to host [192.0.2.9]\nover a maximum of 30 hops:\n\n" + first + third + "host.test [192.0.2.9] \n" + whole},
		"-d 192.0.2.9": {Out: "\nTracing route to 192.0.2.9 over a maximum of 30 hops\n\n" + bare + third + "192.0.2.9 \n" + whole},
		"192.0.2.9":    {Out: "\nTracing route to host.test [192.0.2.9]\nover a maximum of 30 hops:\n\n" + first + third + "host.test [192.0.2.9] \n" + whole},
		"-6 six":       {Out: "\nTracing route to six [2001:db8::9]\nover a maximum of 30 hops:\n\n" + first + third + "2001:db8::9 \n" + whole},
		"/h 2 host":    {Out: "\nTracing route to host [192.0.2.9]\nover a maximum of 2 hops:\n\n" + first + whole},
		"-h 2 -w 1 lost": {
			Out: "\nTracing route to lost [192.0.2.6]\nover a maximum of 2 hops:\n\n  1" + silent + "  2" + silent + whole,
		},
		"-d far": {
			Code: 1, Out: "\nTracing route to far [192.0.2.7]\nover a maximum of 30 hops:\n\n" + bare +
				"  3     1 ms     1 ms     1 ms  10.0.0.3  reports: Destination host unreachable.\n" + whole,
		},
		"broken":   {Code: 1, Out: "\nTracing route to broken [192.0.2.8]\nover a maximum of 30 hops:\n\n  1  General failure.\n" + whole},
		"nosuch":   {Code: 1, Out: "Unable to resolve target system name nosuch.\n"},
		"-6 host":  {Code: 1, Out: "Unable to resolve target system name host.\n"},
		"-h":       {Code: 1, Out: "A value must be supplied for option -h.\n"},
		"-h 0 x":   {Code: 1, Out: "Bad value for option -h.\n"},
		"-h 256 x": {Code: 1, Out: "Bad value for option -h.\n"},
		"-w x x":   {Code: 1, Out: "Bad value for option -w.\n"},
		"a b":      {Code: 1, Out: "A target name or address must be specified.\n"},
	} {
		got := programtest.Run("", func(e program.Env) int { return Tracert(e, way{}, strings.Fields(line)) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tracert %s (-want +got):\n%s", line, diff)
		}
	}

	for _, line := range []string{"", "-?", "-j x"} {
		got := programtest.Run("", func(e program.Env) int { return Tracert(e, way{}, strings.Fields(line)) })
		if got.Code != 1 || !strings.Contains(got.Out, "Usage: tracert") || (line == "-j x" && !strings.HasPrefix(got.Out, "-j is not a valid command option.\n")) {
			t.Errorf("tracert %s: %+v", line, got)
		}
	}
}
