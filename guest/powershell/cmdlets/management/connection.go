package management

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/system"
)

// What Test-Connection asks with (https://learn.microsoft.com/en-us/previous-versions/windows/desktop/wmipicmp/win32-pingstatus).
const (
	pings        = 4
	pingSize     = 32
	pingTTL      = 80
	pingPatience = time.Second
	mostPing     = 65500
)

// noSuchHost is the number of Windows' error for a name without an address.
const noSuchHost = 11001

// pinger is what one call of Test-Connection asks for.
type pinger struct {
	system.Ping
	count int64
	delay time.Duration
}

func newPinger(c *cmdlet.Call) (pinger, error) {
	p := pinger{}
	var size, ttl, delay int64
	for _, one := range []struct {
		name                  string
		to                    *int64
		usual, least, largest int64
	}{
		{"count", &p.count, pings, 1, 1 << 31},
		{"buffersize", &size, pingSize, 0, mostPing},
		{"timetolive", &ttl, pingTTL, 1, 255},
		{"delay", &delay, 1, 1, 60},
	} {
		*one.to = one.usual
		if v, given := c.Values[one.name]; given {
			n, err := object.Integer(v)
			if err != nil {
				return p, err
			}
			if err := inRange(one.name, n, one.least, one.largest); err != nil {
				return p, err
			}
			*one.to = n
		}
	}

	p.Size, p.TTL = int(size), int(ttl)
	p.Patience, p.delay = pingPatience, time.Duration(delay)*time.Second
	return p, nil
}

// inRange returns the error of a number that a parameter does not take.
func inRange(parameter string, n, least, largest int64) error {
	how, instead := fmt.Sprintf("less than the minimum allowed range of %d", least), fmt.Sprintf("greater than or equal to %d", least)
	switch {
	case n > largest:
		how, instead = fmt.Sprintf("greater than the maximum allowed range of %d", largest), fmt.Sprintf("less than or equal to %d", largest)
	case n >= least:
		return nil
	}
	return &object.Exception{
		Class: object.ValidationException, ID: "ParameterArgumentValidationError", Category: "InvalidData",
		Message: fmt.Sprintf("Cannot validate argument on parameter '%s'. The %d argument is %s. Supply an argument that is "+
			"%s and then try the command again.", cmdlet.Written(parameter), n, how, instead),
	}
}

// testConnection pings computers
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.management/test-connection?view=powershell-5.1).
func testConnection(c *cmdlet.Call) error {
	p, err := newPinger(c)
	if err != nil {
		return c.Unbound(err)
	}
	for _, v := range c.Items("computername") {
		if err := p.computer(c, object.Text(v)); err != nil {
			return err
		}
	}
	return nil
}

// computer pings one computer, and outputs each answer, or with -Quiet whether there was one.
func (p pinger) computer(c *cmdlet.Call, host string) error {
	answered, quiet := false, c.Flags["quiet"]
	all, err := c.State.System.Lookup(c.State.Context, host)
	if err != nil || len(all) == 0 {
		p.count = 0 // it stays without an address
		if err := pingFailed(c, host, noSuchHost); err != nil {
			return err
		}
	}

	for i := range p.count {
		if i > 0 {
			if err := c.State.Await(nil, time.After(p.delay)); err != nil {
				return err
			}
		}
		one, err := p.once(c, host, all)
		if err != nil {
			return err
		}
		if answered = answered || one; answered && quiet {
			break
		}
	}

	if quiet {
		return c.Output(answered)
	}
	return nil
}

// once pings a computer once, and reports how it went.
func (p pinger) once(c *cmdlet.Call, host string, all []netip.Addr) (answered bool, err error) {
	got, err := c.State.System.Echo(preferred(all), p.Ping)
	switch {
	case c.State.Context.Err() != nil:
		return false, c.State.Context.Err()
	case err != nil:
		return false, c.Fail(err)
	case got.Status != 0:
		return false, pingFailed(c, host, got.Status)
	case c.Flags["quiet"]:
		return true, nil
	}
	return true, c.Output(p.answer(c, host, all, got))
}

// preferred returns the address that is pinged: Windows prefers IPv6 if there is a way, which nobody knows here.
func preferred(all []netip.Addr) netip.Addr {
	if i := slices.IndexFunc(all, func(a netip.Addr) bool { return a.Is4() }); i >= 0 {
		return all[i]
	}
	return all[0]
}

// pingFailed reports a ping without an answer, in the words that Windows has for its number: those of errors of
// sockets.
func pingFailed(c *cmdlet.Call, host string, status uint32) error {
	if c.Flags["quiet"] {
		return nil
	}
	why := map[uint32]string{
		noSuchHost: "No such host is known",
		11002:      "This is usually a temporary error during hostname resolution and means that the local server did not receive a response from an authoritative server",
		11003:      "A non-recoverable error occurred during a database lookup",

		system.EchoTimedOut: "Error due to lack of resources",
	}[status]
	return c.Fail(&object.Exception{
		Class: "System.Net.NetworkInformation.PingException", Category: "ResourceUnavailable", ID: "TestConnectionException",
		Target:  host,
		Message: "Testing connection to computer '" + host + "' failed: " + cmp.Or(why, fmt.Sprintf("Unknown error (0x%x)", status)),
	})
}

// answer returns an answer as Win32_PingStatus has it.
func (p pinger) answer(c *cmdlet.Call, host string, all []netip.Addr, got system.Echo) *object.Object {
	address := func(is func(netip.Addr) bool) object.Value {
		i := slices.IndexFunc(all, is)
		if i < 0 {
			return nil
		}
		return all[i].String()
	}

	here := c.State.Env["COMPUTERNAME"]
	took := got.Took.Milliseconds()
	o := object.New(format.PingKind).Set("Source", here).Set("Destination", host).
		Set("IPV4Address", address(netip.Addr.Is4)).Set("IPV6Address", address(netip.Addr.Is6)).
		Set("Bytes", int64(p.Size)).Set("Time(ms)", took)
	for name, v := range map[string]object.Value{
		"address": host, "protocoladdress": preferred(all).String(), "responsetime": took, "statuscode": int64(got.Status),
		"buffersize": int64(p.Size), "replysize": int64(p.Size), "timetolive": int64(p.TTL), "responsetimetolive": int64(got.TTL),
		"timeout": p.Patience.Milliseconds(), "__server": here, "pscomputername": strings.ToUpper(here),
		"primaryaddressresolutionstatus": int64(0),
	} {
		o.Props[name] = v
	}

	return o
}

// connectionCmdlets returns the cmdlets that reach other computers.
func connectionCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{{
		Name:      "Test-Connection",
		About:     "pings computers; a name of both families is pinged over IPv4, where Windows prefers IPv6",
		Run:       testConnection,
		Values:    []string{"computername", "count", "delay", "buffersize", "timetolive"},
		Flags:     []string{"quiet"},
		Also:      map[string]string{"cn": "computername", "ipaddress": "computername", "ttl": "timetolive", "bytes": "buffersize"},
		Positions: []string{"computername"},
		Takes:     "computername",
		Needs:     []string{"computername"},
	}}
}
