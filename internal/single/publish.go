package single

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// Loopback returns where a port is published unless another address is named.
func Loopback() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }

// mostPorts bounds the published ports of a container: each one listens, and an image may expose any number.
const mostPorts = 512

// published returns the ports to be published: those that were asked for, and if all are to be, those that the image
// exposes, as 80/tcp, or that were exposed beside them.
func published(ask Run, exposed map[string]struct{}) ([]nat.Port, error) {
	ports := slices.Clone(ask.Ports)
	has := map[Exposed]bool{}
	for _, p := range ports {
		has[Exposed{p.Container, p.Protocol}] = true
	}

	add := func(all []Exposed) {
		for _, e := range all {
			if !has[e] && len(ports) <= mostPorts {
				has[e] = true
				ports = append(ports, nat.Port{
					Addr:      Loopback(),
					Container: e.Port,
					Protocol:  e.Protocol,
				})
			}
		}
	}

	if ask.PublishAll {
		add(ask.Expose)
		for _, text := range slices.Sorted(maps.Keys(exposed)) {
			if len(ports) > mostPorts {
				break
			}

			all, err := ParseExposed(text)
			if err != nil {
				return nil, &Refusal{
					Code:    CodeFailed,
					Message: fmt.Sprintf("publish the ports that the image exposes: %v", err),
					Remedy:  "name them: -p 8080:80",
				}
			}
			add(all)
		}
	}

	if len(ports) > mostPorts {
		return nil, &Refusal{
			Code:    CodeFailed,
			Message: fmt.Sprintf("publish the container's ports: they are more than %d", mostPorts),
			Remedy:  "publish fewer by -p: each one listens on this machine",
		}
	}

	return ports, nil
}

// ParseExposed reads ports that are exposed: 80, 80/tcp, 8000-8010/udp.
func ParseExposed(text string) (all []Exposed, err error) {
	numbers, protocol, has := strings.Cut(text, "/")
	if !has {
		protocol = string(wire.TCP)
	}
	of := wire.Protocol(strings.ToLower(protocol))
	if of != wire.TCP && of != wire.UDP {
		return nil, fmt.Errorf("%q: the protocol %q is neither tcp nor udp", text, protocol)
	}

	first, last, err := ParsePorts(numbers)
	if err != nil {
		return nil, err
	}
	for port := int(first); port <= int(last); port++ {
		all = append(all, Exposed{uint16(port), of})
	}

	return all, nil
}

// ParsePorts reads the number of a port, or those of the first and the last one: 80, 8000-8010.
func ParsePorts(text string) (first, last uint16, err error) {
	begin, end, several := strings.Cut(text, "-")
	if first, err = portNumber(begin); err != nil || !several {
		return first, first, err
	}
	if last, err = portNumber(end); err == nil && first > last {
		err = fmt.Errorf("%q: the first port is after the last one", text)
	}
	return first, last, err
}

// portNumber reads the number of a port.
func portNumber(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no port, which is from 1 to 65535", text)
	}
	return uint16(n), nil
}
