package dataplane

import (
	"maps"
	"slices"

	"sigs.k8s.io/knftables"
)

// verdictMaps are the maps whose values are chains to go to.
//
//nolint:gochecknoglobals // a constant; Go has no constant maps
var verdictMaps = map[string]bool{"vip": true, "external": true, "node": true, "from_host": true, "acl_in": true, "acl_out": true}

// accessMaps are those of access rules: their chains return where they let a packet pass.
//
//nolint:gochecknoglobals // a constant; Go has no constant maps
var accessMaps = map[string]bool{"acl_in": true, "acl_out": true}

// sets are the table's sets and maps; ranges: keys may be ranges.
func sets() (fixed []knftables.Set, mapped []knftables.Map) {
	ranges := []knftables.SetFlag{knftables.IntervalFlag}
	fixed = []knftables.Set{
		{Name: "self", Type: "ipv4_addr . ipv4_addr"},                        // each pod's address, twice
		{Name: "uplinks", Type: "ifname"},                                    // where the underlay's packets come in
		{Name: "hidden", Type: "ifname"},                                     // switches of NAT networks
		{Name: "nat_src", Type: "ipv4_addr"},                                 // pods behind the host's address
		{Name: "nat_only", Type: "ipv4_addr . ipv4_addr", Flags: ranges},     // the same, towards these destinations
		{Name: "nat_except", Type: "ipv4_addr . ipv4_addr", Flags: ranges},   // not towards these
		{Name: "nat_tcp_udp", Type: "ipv4_addr"},                             // pods whose translation carries no ICMP
		{Name: "tunnel_pods", Type: "ipv4_addr"},                             // pods of L2Tunnel networks
		{Name: "tunnel_vips", Type: "ipv4_addr . inet_proto . inet_service"}, // what may come back to them from the router
	}
	service := "ipv4_addr . inet_proto . inet_service"
	mapped = []knftables.Map{
		{Name: "vip", Type: service + " : verdict"},
		{Name: "vip_to", Type: service + " . mark : ipv4_addr . inet_service"},
		{Name: "external", Type: service + " : verdict"},
		{Name: "vip_source", Type: service + " : mark"},
		{Name: "node", Type: "inet_proto . inet_service : verdict"},
		{Name: "node_to", Type: "inet_proto . inet_service . mark : ipv4_addr . inet_service"},
		{Name: "node_source", Type: "inet_proto . inet_service : mark"},
		{Name: "from_host", Type: "inet_proto . inet_service : verdict"},
		{Name: "acl_in", Type: "ipv4_addr : verdict"},
		{Name: "acl_out", Type: "ipv4_addr : verdict"},
		{Name: "source", Type: "mark : ipv4_addr"},
		{Name: "nat_to", Type: "ipv4_addr : ipv4_addr"},
		{Name: "nat_only_to", Type: "ipv4_addr . ipv4_addr : ipv4_addr", Flags: ranges},
	}
	return fixed, mapped
}

// setNames are the names of all of them.
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
// host itself reaches neither virtual addresses nor its own node ports, as on Windows; what a NAT network maps it does
// reach (from Windows Server 2019 on), by the chain output.
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
		base("prerouting", knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority),
		base("output", knftables.NATType, knftables.OutputHook, knftables.DNATPriority),
		base("postrouting", knftables.NATType, knftables.PostroutingHook, knftables.SNATPriority),
		base("forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority),
		base("to_host", knftables.FilterType, knftables.InputHook, knftables.FilterPriority),
		base("by_host", knftables.FilterType, knftables.OutputHook, knftables.FilterPriority),
		{Name: "looped"},
		{Name: "not_carried"},
		{Name: "from_pod"},
		{Name: "from_underlay"},
		{Name: "to_node"},
		{Name: "back_here"},
	} {
		tx.Add(&c)
	}
	for _, r := range frameRules() {
		tx.Add(&knftables.Rule{Chain: r[0], Rule: r[1]})
	}
}

func base(name string, kind knftables.BaseChainType, hook knftables.BaseChainHook, prio knftables.BaseChainPriority) knftables.Chain {
	return knftables.Chain{Name: name, Type: &kind, Hook: &hook, Priority: &prio}
}

// frameRules are pairs of chain and rule.
func frameRules() [][2]string {
	const (
		switches = `"` + bridgePrefix + `*"`
		tunnels  = `"` + vxlanPrefix + `*"`
		service  = "ip daddr . meta l4proto . th dport"
	)
	return [][2]string{
		{"raw", "iifname " + switches + " ip daddr 127.0.0.0/8 drop"}, // route_localnet is on for NAT networks
		// Packets between two pods of an L2Tunnel network pass the host twice. They are tracked on their way out only.
		{"raw", "iifname @uplinks ip daddr @tunnel_pods goto looped"},
		{"looped", "ip saddr @tunnel_pods notrack"},
		{"looped", "fib saddr type local notrack"},
		{"looped", "ip saddr . meta l4proto . th sport @tunnel_vips notrack"},

		{"prerouting", "iifname " + switches + " goto from_pod"},
		{"prerouting", "iifname @uplinks goto from_underlay"},
		// The connection's mark carries, to postrouting, the address that backends elsewhere are to see.
		{"from_pod", "ct mark set " + service + " map @vip_source"},
		{"from_pod", service + " vmap @vip"},
		{"from_pod", "fib daddr type local goto to_node"},
		{"from_underlay", "ct mark set " + service + " map @vip_source"},
		{"from_underlay", service + " vmap @external"},
		{"from_underlay", "fib daddr type local goto to_node"},
		{"to_node", "ct mark set meta l4proto . th dport map @node_source"},
		{"to_node", "meta l4proto . th dport vmap @node"},
		{"output", "fib daddr type local meta l4proto . th dport vmap @from_host"},

		// Access rules see addresses as pods have them: after load balancing, and before translation of the source.
		{"forward", "ct state established,related,untracked accept"},
		{"forward", "ip saddr vmap @acl_out"},
		{"forward", "ip daddr vmap @acl_in"},
		{"to_host", "ct state established,related accept"},
		{"to_host", "ip saddr vmap @acl_out"},
		{"by_host", "ct state established,related accept"},
		{"by_host", "ip daddr vmap @acl_in"},

		// A pod that a load balancer sends to itself would drop a packet from its own address.
		{"postrouting", "ip saddr . ip daddr @self goto back_here"},
		// A backend elsewhere has to answer through this host, which knows what was translated.
		{"postrouting", "iifname @uplinks ct status dnat oifname != " + switches + " goto back_here"},
		// What the host sends to its own mapped ports may come from 127.0.0.1.
		{"postrouting", "fib saddr type local ct status dnat oifname " + switches + " masquerade"},
		{"back_here", "snat to ct mark map @source"},
		{"back_here", "masquerade"},
		// Windows' translation carries TCP and UDP; anything else would leave with an address that nobody answers to.
		{"postrouting", "meta l4proto != { tcp, udp } ip saddr @nat_tcp_udp goto not_carried"},
		{"not_carried", "ip saddr . ip daddr @nat_only drop"},
		{"not_carried", "oifname " + switches + " accept"},
		{"not_carried", "oifname " + tunnels + " accept"},
		{"not_carried", "ip saddr . ip daddr @nat_except accept"},
		{"not_carried", "ip saddr @nat_src drop"},

		{"postrouting", "snat to ip saddr . ip daddr map @nat_only_to"},
		{"postrouting", "ip saddr . ip daddr @nat_only masquerade"},
		{"postrouting", "oifname " + switches + " accept"},
		{"postrouting", "oifname " + tunnels + " accept"},
		{"postrouting", "iifname @hidden masquerade"},
		{"postrouting", "ip saddr . ip daddr @nat_except accept"},
		{"postrouting", "snat to ip saddr map @nat_to"},
		{"postrouting", "ip saddr @nat_src masquerade"},
	}
}

// addChains adds chains that entries go to, each whole.
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
