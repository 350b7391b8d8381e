package run

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// networkAsk is what is asked of a container's network.
func (o *options) networkAsk() (ports []nat.Port, dns []netip.Addr, err error) {
	switch network := single.Network(o.network); {
	case network != single.NAT && network != single.None:
		return nil, nil, engine.Failed(fmt.Errorf("--network %q is neither nat nor none", o.network),
			"leave it out: containers of the network nat reach each other by their names")
	case network == single.None && len(o.publish) > 0:
		return nil, nil, engine.Failed(errors.New("--publish leads into a network, and there is none with --network none"),
			"leave one of them out")
	case network == single.None && len(o.dns) > 0:
		return nil, nil, engine.Failed(errors.New("--dns is asked by way of a network, and there is none with --network none"),
			"leave one of them out")
	}

	for _, text := range o.publish {
		p, err := portOf(text)
		if err != nil {
			return nil, nil, engine.Failed(fmt.Errorf("--publish %q: %w", text, err), "for example: -p 8080:80, or -p 0.0.0.0:53:53/udp")
		}
		ports = append(ports, p)
	}
	for _, text := range o.dns {
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.Is4() {
			return nil, nil, engine.Failed(fmt.Errorf("--dns %q is no IPv4 address", text), "for example: --dns 9.9.9.9")
		}
		if addr.IsLoopback() {
			return nil, nil, engine.Failed(fmt.Errorf("--dns %s: that is the container itself", addr),
				"leave it out: this machine's name servers are asked, also one on its loopback")
		}
		dns = append(dns, addr)
	}
	return ports, dns, nil
}

// portOf reads a value of --publish: [ADDRESS:]PORT:CONTAINERPORT[/PROTOCOL], where an address of IPv6 is in brackets.
func portOf(text string) (nat.Port, error) {
	p := nat.Port{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Protocol: wire.TCP}
	rest, protocol, has := strings.Cut(text, "/")
	if has {
		p.Protocol = wire.Protocol(strings.ToLower(protocol))
	}
	if p.Protocol != wire.TCP && p.Protocol != wire.UDP {
		return p, fmt.Errorf("the protocol %q is neither tcp nor udp", protocol)
	}

	outside, inside, ok := cutLast(rest, ":")
	if !ok {
		return p, errors.New("there is no port of this machine before that of the container")
	}
	if addr, port, ok := cutLast(outside, ":"); ok {
		var err error
		if p.Addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(addr, "["), "]")); err != nil {
			return p, fmt.Errorf("%q is no address", addr)
		}
		outside = port
	}
	var err error
	if p.Host, err = portNumber(outside); err != nil {
		return p, err
	}
	p.Container, err = portNumber(inside)
	return p, err
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// portNumber reads the number of a port.
func portNumber(text string) (uint16, error) {
	if strings.Contains(text, "-") {
		return 0, fmt.Errorf("%q: ranges are not taken, name each port by a --publish of its own", text)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no port, which is from 1 to 65535", text)
	}
	return uint16(n), nil
}
