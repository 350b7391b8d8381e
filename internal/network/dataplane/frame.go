package dataplane

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/knftables"
)

// verdictMaps are the maps whose values are chains to go to.
//
//nolint:gochecknoglobals // a constant, made when it is used first; Go has no constant maps
var verdictMaps = sync.OnceValue(func() map[string]bool { return verdictMapNames("") })

// accessMaps are the verdict maps of access rules. Their chains return if they let a packet pass.
//
//nolint:gochecknoglobals // a constant, made when it is used first; Go has no constant maps
var accessMaps = sync.OnceValue(func() map[string]bool { return verdictMapNames(accessPrefix) })

// verdictMapNames returns the names of the maps of verdicts that begin with a prefix.
func verdictMapNames(prefix string) map[string]bool {
	names := map[string]bool{}
	_, mapped := sets()
	for _, m := range mapped {
		if strings.HasSuffix(m.Type, " : verdict") && strings.HasPrefix(m.Name, prefix) {
			names[m.Name] = true
		}
	}
	return names
}

// sets returns the table's sets and maps; ranges: keys may be ranges.
func sets() (fixed []knftables.Set, mapped []knftables.Map) {
	fixed = []knftables.Set{
		{Name: "uplinks", Type: "ifname"},                         // where the underlay's packets come in
		{Name: "hidden", Type: "ifname"},                          // switches of NAT networks
		{Name: "within", Type: "ifname . ifname"},                 // each of them twice: what stays in such a network
		{Name: "switched", Type: "ifname"},                        // switches of which every pod's addresses are known
		{Name: "tunnel_ports", Type: "inet_proto . inet_service"}, // where hosts get overlays' frames
		{Name: "balancing", Type: "ifname"},                       // uplinks by which the host's own packets to virtual addresses would leave
	}

	for _, f := range families() {
		sets, maps := familySets()
		for _, s := range sets {
			s.Name, s.Type = f.name(s.Name), f.in(s.Type)
			fixed = append(fixed, s)
		}

		for _, m := range maps {
			m.Name, m.Type = f.name(m.Name), f.in(m.Type)
			mapped = append(mapped, m)
		}
	}

	return fixed, mapped
}

// familySets returns the sets and maps that each family has.
func familySets() (fixed []knftables.Set, mapped []knftables.Map) {
	const (
		addr    = "{proto}_addr"
		pair    = addr + " . " + addr
		port    = "inet_proto . inet_service"
		service = addr + " . " + port
	)

	ranges := []knftables.SetFlag{knftables.IntervalFlag}
	fixed = []knftables.Set{
		{Name: "self", Type: pair},                      // each pod's address, twice
		{Name: "own", Type: addr + " . ether_addr"},     // each pod's address, with its hardware address
		{Name: "nat_src", Type: addr},                   // pods behind the host's address
		{Name: "nat_only", Type: pair, Flags: ranges},   // the same, towards these destinations
		{Name: "nat_except", Type: pair, Flags: ranges}, // not towards these
		{Name: "nat_tcp_udp", Type: addr},               // pods whose translation carries no ICMP
		{Name: "tunnel_pods", Type: addr},               // pods of L2Tunnel networks
		{Name: "tunnel_vips", Type: service},            // what may come back to them from the router
		{Name: "kept_vips", Type: addr},                 // virtual addresses that pods take for their own
	}

	mapped = []knftables.Map{
		{Name: "vip", Type: service + " : verdict"},
		{Name: "vip_to", Type: service + " . mark : " + addr + " . inet_service"},
		{Name: "external", Type: service + " : verdict"},
		{Name: "kept", Type: service + " : verdict"},
		{Name: "kept_external", Type: service + " : verdict"},
		{Name: "kept_to", Type: service + " . mark : mark"},
		{Name: "acl_kept", Type: "mark : verdict"},
		{Name: "vip_source", Type: service + " : mark"},
		{Name: "node", Type: port + " : verdict"},
		{Name: "node_to", Type: port + " . mark : " + addr + " . inet_service"},
		{Name: "node_source", Type: port + " : mark"},
		{Name: "from_host", Type: port + " : verdict"},
		{Name: "acl_in", Type: addr + " : verdict"},
		{Name: "acl_out", Type: addr + " : verdict"},
		{Name: "source", Type: "mark : " + addr},
		{Name: "nat_to", Type: addr + " : " + addr},
		{Name: "nat_only_to", Type: pair + " : " + addr, Flags: ranges},
	}

	return fixed, mapped
}

// setNames returns the names of all sets and maps.
func setNames() []string {
	var names []string
	fixed, mapped := sets()
	for _, s := range fixed {
		names = append(names, s.Name)
	}
	for _, m := range mapped {
		names = append(names, m.Name)
	}
	return names
}

// frame is the table without its elements. Only packets that come in over a switch or an uplink pass prerouting, so the
// host itself does not reach its own node ports, as on Windows. The chain output lets it reach mapped ports of NAT
// networks, as from Windows Server 2019 on, and virtual addresses, as from Windows Server 2022 on.
func frame(tx *knftables.Transaction) {
	tx.Add(&knftables.Table{Comment: new("Host Networking Service")})
	fixed, mapped := sets()
	for _, s := range fixed {
		tx.Add(&s)
	}

	for _, m := range mapped {
		tx.Add(&m)
	}

	tx.Add(&knftables.Set{Name: sealSet, Type: "mark"})
	for _, c := range []knftables.Chain{
		base("raw", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority),
		base("keep", knftables.FilterType, knftables.PreroutingHook, knftables.ManglePriority),
		base("keep_by_host", knftables.RouteType, knftables.OutputHook, knftables.ManglePriority),
		base("prerouting", knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority),
		base("output", knftables.NATType, knftables.OutputHook, knftables.DNATPriority),
		base("postrouting", knftables.NATType, knftables.PostroutingHook, knftables.SNATPriority),
		base("forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority),
		base("to_host", knftables.FilterType, knftables.InputHook, knftables.FilterPriority),
		base("by_host", knftables.FilterType, knftables.OutputHook, knftables.FilterPriority),
		{Name: "not_own"},
		{Name: "looped"},
		{Name: "not_carried"},
		{Name: "from_pod"},
		{Name: "from_underlay"},
		{Name: "to_node"},
		{Name: "back_here"},
		{Name: "between"},
	} {
		tx.Add(&c)
	}

	for _, r := range frameRules() {
		for _, rule := range forEach(r[1]) {
			tx.Add(&knftables.Rule{Chain: r[0], Rule: rule})
		}
	}
}

func base(name string, kind knftables.BaseChainType, hook knftables.BaseChainHook,
	prio knftables.BaseChainPriority,
) knftables.Chain {
	return knftables.Chain{
		Name:     name,
		Type:     &kind,
		Hook:     &hook,
		Priority: &prio,
	}
}

// neighbours lets neighbour discovery pass (RFC 4861).
const neighbours = "icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } accept"

// frameRules are pairs of chain and rule; forEach writes them for both families.
func frameRules() [][2]string {
	const (
		switches = `"` + bridgePrefix + `*"`
		tunnels  = `"` + vxlanPrefix + `*"`
		aparts   = `"` + apartPrefix + `*"`
		service  = "{ip} daddr . meta l4proto . th dport"
	)

	return [][2]string{
		{"raw", "iifname " + switches + " ip daddr 127.0.0.0/8 drop"}, // route_localnet is on for NAT networks
		// What comes out of a network that is apart is behind the address of its way out: others' pods may have those
		// of its own.
		{"raw", "iifname " + aparts + " ip saddr != 169.254.0.0/16 drop"},
		{"raw", "iifname " + aparts + " meta nfproto ipv6 drop"},
		// A pod sends from its own addresses. Any program can send from others with IPv6 (IPV6_FREEBIND).
		{"raw", "iifname @switched {ip} saddr . ether saddr != @own{6} goto not_own"},
		{"not_own", "{ip} saddr @kept_vips{6} accept"}, // see the chain forward
		{"not_own", "ip6 saddr { ::, fe80::/10 } accept"},
		{"not_own", "ip saddr 0.0.0.0 ip daddr 255.255.255.255 udp sport 68 udp dport 67 accept"}, // DHCP clients
		{"not_own", "drop"},
		// Packets between two pods of an L2Tunnel network pass the host twice. They are tracked on their way out only.
		{"raw", "iifname @uplinks {ip} daddr @tunnel_pods{6} goto looped"},
		{"looped", "{ip} saddr @tunnel_pods{6} notrack"},
		{"looped", "fib saddr type local notrack"},
		{"looped", "{ip} saddr . meta l4proto . th sport @tunnel_vips{6} notrack"},

		// Packets that keep their destination have the mark of a pod, from which routing leads to it.
		{"keep", "iifname " + switches + " " + service + " vmap @kept{6}"},
		{"keep", "iifname @uplinks " + service + " vmap @kept_external{6}"},
		{"keep_by_host", "oifname @balancing " + service + " vmap @kept{6}"},

		{"prerouting", "iifname " + switches + " goto from_pod"},
		{"prerouting", "iifname @uplinks goto from_underlay"},
		// The connection's mark carries, to postrouting, the address that backends elsewhere are to see.
		{"from_pod", "ct mark set " + service + " map @vip_source{6}"},
		{"from_pod", service + " vmap @vip{6}"},
		{"from_pod", "fib daddr type local goto to_node"},
		{"from_underlay", "ct mark set " + service + " map @vip_source{6}"},
		{"from_underlay", service + " vmap @external{6}"},
		{"from_underlay", "fib daddr type local goto to_node"},
		{"to_node", "meta nfproto {proto} ct mark set meta l4proto . th dport map @node_source{6}"},
		{"to_node", "meta nfproto {proto} meta l4proto . th dport vmap @node{6}"},
		{"output", "meta nfproto {proto} fib daddr type local meta l4proto . th dport vmap @from_host{6}"},
		{"output", "oifname @balancing ct mark set " + service + " map @vip_source{6}"},
		{"output", "oifname @balancing " + service + " vmap @vip{6}"},

		// Access rules see addresses as pods have them: after load balancing, and before translation of the source.
		{"forward", "ct state established,related,untracked accept"},
		// A pod answers from a virtual address that it keeps, and opens nothing from there, past its rules.
		{"forward", "iifname " + switches + " {ip} saddr @kept_vips{6} drop"},
		// Hosts alone send frames in tunnels: hosts believe what is in them.
		{"forward", "iifname " + switches + " meta l4proto . th dport @tunnel_ports drop"},
		{"forward", "iifname " + aparts + " meta l4proto . th dport @tunnel_ports drop"},
		// Networks that are apart reach no pods of the host's others, and those do not reach them.
		{"forward", "iifname " + aparts + " oifname " + switches + " drop"},
		{"forward", "iifname " + aparts + " oifname " + tunnels + " drop"},
		{"forward", "oifname " + aparts + " drop"},
		// A NAT network is reached from another one by its mapped ports alone.
		{"forward", "iifname @hidden oifname @hidden iifname . oifname != @within jump between"},
		{"between", "ct status dnat return"},
		{"between", "drop"},
		{"forward", "{ip} saddr vmap @acl_out{6}"},
		{"forward", "meta mark vmap @acl_kept{6}"},
		{"forward", "{ip} daddr vmap @acl_in{6}"},
		// Neighbour discovery passes whatever the access rules are, as ARP does, which no rule sees.
		{"to_host", neighbours},
		{"by_host", neighbours},
		{"to_host", "ct state established,related accept"},
		{"to_host", "iifname " + switches + " {ip} saddr @kept_vips{6} drop"},
		{"to_host", "iifname " + switches + " meta l4proto . th dport @tunnel_ports drop"},
		{"to_host", "iifname " + aparts + " meta l4proto . th dport @tunnel_ports drop"},
		{"to_host", "{ip} saddr vmap @acl_out{6}"},
		{"by_host", "ct state established,related accept"},
		{"by_host", "{ip} daddr vmap @acl_in{6}"},
		{"by_host", "meta mark vmap @acl_kept{6}"},

		// A pod that a load balancer sends to itself would drop a packet from its own address.
		{"postrouting", "{ip} saddr . {ip} daddr @self{6} goto back_here"},
		// A backend elsewhere has to answer through this host, which knows what was translated.
		{"postrouting", "iifname @uplinks ct status dnat oifname != " + switches + " goto back_here"},
		// What the host sends to a virtual address whose backend is beyond a tunnel has no address there.
		{"postrouting", "fib saddr type local ct status dnat oifname " + tunnels + " goto back_here"},
		// What the host sends to its own mapped ports may come from 127.0.0.1.
		{"postrouting", "fib saddr type local ct status dnat oifname " + switches + " masquerade"},
		{"back_here", "snat {ip} to ct mark map @source{6}"},
		{"back_here", "masquerade"},
		// Windows' translation carries TCP and UDP; anything else would leave with an address that nobody answers to.
		{"postrouting", "meta l4proto != { tcp, udp } {ip} saddr @nat_tcp_udp{6} goto not_carried"},
		{"not_carried", "{ip} saddr . {ip} daddr @nat_only{6} drop"},
		{"not_carried", "oifname " + switches + " accept"},
		{"not_carried", "oifname " + tunnels + " accept"},
		{"not_carried", "{ip} saddr . {ip} daddr @nat_except{6} accept"},
		{"not_carried", "{ip} saddr @nat_src{6} drop"},

		{"postrouting", "snat {ip} to {ip} saddr . {ip} daddr map @nat_only_to{6}"},
		{"postrouting", "{ip} saddr . {ip} daddr @nat_only{6} masquerade"},
		{"postrouting", "oifname " + switches + " accept"},
		{"postrouting", "oifname " + tunnels + " accept"},
		{"postrouting", "iifname @hidden masquerade"},
		{"postrouting", "{ip} saddr . {ip} daddr @nat_except{6} accept"},
		{"postrouting", "snat {ip} to {ip} saddr map @nat_to{6}"},
		{"postrouting", "{ip} saddr @nat_src{6} masquerade"},
	}
}

// addChains adds the chains with all their rules.
func addChains(tx *knftables.Transaction, r *ruleset, chains map[string]bool) {
	names := slices.Sorted(maps.Keys(chains))
	for _, name := range names {
		tx.Add(&knftables.Chain{Name: name})
		tx.Flush(&knftables.Chain{Name: name})
	}
	for _, name := range names {
		for _, rule := range r.chainRules(name) {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
}
