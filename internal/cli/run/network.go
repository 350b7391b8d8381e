package run

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// networkAsk asks for a container's network.
func (o *options) networkAsk(ask *single.Run) error {
	if err := o.checkNetwork(); err != nil {
		return err
	}

	ask.PublishAll = o.publishAll
	for _, text := range o.expose {
		ports, err := single.ParseExposed(text)
		if err != nil {
			return engine.Failed(fmt.Errorf("--expose: %w", err), "for example: --expose 80/tcp")
		}
		ask.Expose = append(ask.Expose, ports...)
	}

	for _, text := range o.publish {
		ports, err := portsOf(text)
		if err != nil {
			return engine.Failed(fmt.Errorf("--publish %q: %w", text, err), "for example: -p 8080:80, or -p 0.0.0.0:53:53/udp")
		}
		ask.Ports = append(ask.Ports, ports...)
	}

	for _, text := range o.dns {
		addr, err := nameServer(text)
		if err != nil {
			return err
		}
		ask.DNS = append(ask.DNS, addr)
	}

	return nil
}

// checkNetwork refuses a network that there is none of, and what wants one without one.
func (o *options) checkNetwork() error {
	switch network := single.Network(o.network); {
	case network != single.NAT && network != single.None:
		return engine.Failed(fmt.Errorf("--network %q is neither nat nor none", o.network),
			"leave it out: containers of the network nat reach each other by their names")
	case network == single.None && (len(o.publish) > 0 || o.publishAll):
		return engine.Failed(errors.New("--publish leads into a network, and there is none with --network none"),
			"leave one of them out")
	case network == single.None && len(o.dns) > 0:
		return engine.Failed(errors.New("--dns is asked by way of a network, and there is none with --network none"),
			"leave one of them out")
	}

	return nil
}

// nameServer reads a value of --dns.
func nameServer(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() {
		return addr, engine.Failed(fmt.Errorf("--dns %q is no IPv4 address", text), "for example: --dns 9.9.9.9")
	}
	if addr.IsLoopback() {
		return addr, engine.Failed(fmt.Errorf("--dns %s: that is the container itself", addr),
			"leave it out: this machine's name servers are asked, also one on its loopback")
	}
	return addr, nil
}

// portsOf reads a value of --publish: [[ADDRESS:][PORT]:]CONTAINERPORT[/PROTOCOL], where an address of IPv6 is in
// brackets and ports may be ranges. As with Docker, both ranges are as long, or that of the machine is where the one
// port of the container finds a free one (https://docs.docker.com/engine/network/port-publishing/).
func portsOf(text string) ([]nat.Port, error) {
	of := nat.Port{Addr: single.Loopback(), Protocol: wire.TCP}
	rest, protocol, has := strings.Cut(text, "/")
	if has {
		of.Protocol = wire.Protocol(strings.ToLower(protocol))
	}
	if of.Protocol != wire.TCP && of.Protocol != wire.UDP {
		return nil, fmt.Errorf("the protocol %q is neither tcp nor udp", protocol)
	}

	outside, inside, ok := cutLast(rest, ":")
	if !ok {
		outside, inside = "", rest
	}

	if addr, port, ok := cutLast(outside, ":"); ok {
		var err error
		if of.Addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")); err != nil {
			return nil, fmt.Errorf("%q is no address", addr)
		}
		outside = port
	}

	first, last, err := single.ParsePorts(inside)
	if err != nil || outside == "" {
		return portsBetween(of, 0, 0, first, last), err
	}

	begin, end, err := single.ParsePorts(outside)
	switch {
	case err != nil:
		return nil, err
	case first == last && end > begin:
		of.Host, of.Last = begin, end
		of.Container = first
		return []nat.Port{of}, nil
	case end-begin != last-first:
		return nil, fmt.Errorf("the ranges %s and %s are not as long", outside, inside)
	}

	return portsBetween(of, begin, 1, first, last), nil
}

// portsBetween are ports of the container from first to last, and those of the machine from host on, by steps of step.
func portsBetween(of nat.Port, host, step, first, last uint16) (all []nat.Port) {
	for n := uint16(0); n <= last-first; n++ {
		of.Host, of.Container = host+n*step, first+n
		all = append(all, of)
		if n == last-first {
			break // the next number may be 0
		}
	}
	return all
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
