package programtest

import (
	"fmt"
	"net"
	"net/netip"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winnet"
)

// Routes are routes of both families.
func Routes() []winnet.Route {
	at := func(index uint32, prefix, hop string, metric uint32) winnet.Route {
		to, by := netip.MustParsePrefix(prefix), netip.MustParseAddr(hop)
		return winnet.Route{
			Index:  index,
			Prefix: to,
			Hop:    by,
			Metric: metric,
		}
	}
	return []winnet.Route{
		at(3, "192.0.2.0/20", "0.0.0.0", 256), at(1, "127.0.0.0/8", "0.0.0.0", 256), at(3, "0.0.0.0/0", "192.0.2.254", 25),
		at(1, "::1/128", "::", 331), at(3, "2001:db8:1234:5678:9abc::/80", "fe80::ff", 10),
	}
}

// Adapters are adapters as Wine has them, the loopback first.
func Adapters() []program.Adapter {
	servers := []netip.Addr{netip.MustParseAddr("127.0.0.53"), netip.MustParseAddr("192.0.2.54")}
	address := func(text string, bits int) program.Address {
		return program.Address{IP: netip.MustParseAddr(text), Bits: bits}
	}

	card := func(n byte, up bool, addresses ...program.Address) program.Adapter {
		name := fmt.Sprintf("eth%d", n-1)
		return program.Adapter{
			Name: name, Description: name, Suffix: "svc.test", Hardware: net.HardwareAddr{2, 0, 0, 0, 0, n}, Up: up,
			Addresses: addresses, Servers: servers,
		}
	}

	first := card(1, true, address("2001:db8::100", 64), address("fe80::1%3", 64), address("fe80::ff:fe00:1%3", 64),
		address("192.0.2.100", 20))
	first.Index = 3
	first.Gateways = []netip.Addr{netip.MustParseAddr("192.0.2.254")}
	return []program.Adapter{
		{Index: 1, Name: "lo", Description: "lo", Loopback: true, Up: true, Addresses: []program.Address{address("127.0.0.1", 8)}},
		card(2, true, address("fe80::ff:fe00:2%2", 64), address("10.1.2.3", 32)), first, card(4, false), card(3, false),
	}
}
