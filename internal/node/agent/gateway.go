package agent

import (
	"io"
	"net"
	"net/netip"
	"os"

	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/network/dhcp"
	"mullion.dev/mullion/internal/network/dnsproxy"
)

// dnsProxy answers DNS questions that come by a link, by the host's name servers as they are at the time.
func dnsProxy(link string, at []netip.Addr) (io.Closer, error) {
	const port = 53
	var listen []netip.AddrPort
	for _, a := range at {
		listen = append(listen, netip.AddrPortFrom(a, port))
	}

	return dnsproxy.Listen(dnsproxy.Config{Link: link, At: listen, Servers: func() []netip.AddrPort {
		data, err := os.ReadFile("/etc/resolv.conf")
		if err != nil {
			return nil
		}
		var servers []netip.AddrPort
		for _, s := range resolvconf.Parse(string(data)).Servers {
			servers = append(servers, netip.AddrPortFrom(s, port))
		}

		return servers[:min(len(servers), mostServers)]
	}})
}

// nameServers returns the host's name servers, as they are at the time.
func nameServers() []netip.Addr {
	servers := resolvconf.Machine().Servers
	return servers[:min(len(servers), mostServers)]
}

// mostServers is how many name servers are asked, as by the C library (resolv.conf(5)).
const mostServers = 3

// dhcpServer answers DHCP clients that come by a link.
func dhcpServer(link string, server netip.Addr, of func(net.HardwareAddr) (dhcp.Lease, bool)) (io.Closer, error) {
	return dhcp.Listen(dhcp.Config{
		Link:   link,
		Server: server,
		Lease:  of,
	})
}
