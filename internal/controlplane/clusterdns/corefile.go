package clusterdns

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/base/version"
)

// maxUpstreams is how many name servers CoreDNS forwards to at most (plugin/forward v1.14.7, setup.go).
const maxUpstreams = 15

// Corefile returns CoreDNS's configuration: kubeadm's, with other listen addresses, and without the plugin `loop`,
// which ends the server when a query comes back to it. That cannot happen, because the upstream servers here are never
// on a loopback. https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/phases/addons/dns/manifests.go
//
// Without upstream servers, a name outside of the cluster's domain is answered with SERVFAIL at once. Queries for names
// in zones go to the zone's own servers.
func (c Config) Corefile(upstreams []netip.Addr, zones []Zone) string {
	local := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	var b strings.Builder
	fmt.Fprintf(&b, ".:%d {\n", Port)
	fmt.Fprintf(&b, "    bind %s\n", c.Address)
	fmt.Fprintf(&b, "    errors\n")
	fmt.Fprintf(&b, "    health %s\n", local(healthPort))
	fmt.Fprintf(&b, "    ready %s\n", local(readyPort))
	fmt.Fprintf(&b, "    kubernetes %s in-addr.arpa ip6.arpa {\n", c.Domain)
	fmt.Fprintf(&b, "        kubeconfig %s\n", c.kubeconfig())
	fmt.Fprintf(&b, "        pods insecure\n")
	if version.MinorOf(c.Version) < version.EndpointSlices {
		fmt.Fprintf(&b, "        noendpoints\n") // CoreDNS reads slices of v1 alone, and would answer nothing without
	}

	fmt.Fprintf(&b, "        fallthrough in-addr.arpa ip6.arpa\n")
	fmt.Fprintf(&b, "        ttl 30\n")
	fmt.Fprintf(&b, "    }\n")
	fmt.Fprintf(&b, "    prometheus %s\n", net.JoinHostPort(c.Address.String(), strconv.Itoa(MetricsPort)))
	if len(upstreams) > 0 {
		fmt.Fprintf(&b, "    %s {\n        max_concurrent 1000\n    }\n", forward(upstreams))
	}

	fmt.Fprintf(&b, "    cache 30 {\n        disable success %[1]s\n        disable denial %[1]s\n    }\n", c.Domain)
	fmt.Fprintf(&b, "    reload 5s 2s\n")
	fmt.Fprintf(&b, "    loadbalance\n")
	fmt.Fprintf(&b, "}\n")
	for _, z := range zones {
		fmt.Fprintf(&b, "%s:%d {\n    bind %s\n    errors\n    %s\n    cache 30\n}\n", z.Name, Port, c.Address,
			forward(z.Servers))
	}

	return b.String()
}

func forward(servers []netip.Addr) string {
	var b strings.Builder
	b.WriteString("forward .")
	for _, addr := range servers[:min(len(servers), maxUpstreams)] {
		fmt.Fprintf(&b, " %s", addr)
	}
	return b.String()
}
