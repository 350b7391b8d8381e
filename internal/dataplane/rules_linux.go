package dataplane

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// tableName is the host's nftables table, of family ip.
const tableName = "hns"

// ruleset is what changes with the plan: elements of sets and maps, and a chain for each load balancer. The chains that
// never change are in frame.
type ruleset struct {
	elements map[string]*knftables.Element // by set and key
	chains   map[string]chain              // by name
}

// chain is one load balancer's.
type chain struct{ id, rule string }

// rulesOf turns a plan into rules. What a packet costs does not depend on how much is in the plan: it passes a handful of
// rules that look up sets and maps.
func rulesOf(plan netplan.Plan) *ruleset {
	r := &ruleset{elements: map[string]*knftables.Element{}, chains: map[string]chain{}}
	for _, p := range plan.Ports {
		for _, a := range p.Addrs {
			addr := a.Addr().String()
			r.add(p.ID, "self", "", addr, addr)
			for _, n := range p.NAT {
				r.addNAT(p.ID, addr, n)
			}
		}
	}
	for _, lb := range plan.LoadBalancers {
		if len(lb.Backends) == 0 {
			continue
		}
		name := fmt.Sprintf("lb_%016x", hash(lb.ID))
		r.chains[name] = chain{id: lb.ID, rule: balance(lb)}
		proto, port := protocolName(lb.Protocol), strconv.Itoa(int(lb.Port))
		if len(lb.VIPs) == 0 {
			r.add(lb.ID, "nodeport", "goto "+name, proto, port)
		}
		for _, vip := range lb.VIPs {
			r.add(lb.ID, "vip", "goto "+name, vip.String(), proto, port)
		}
	}
	return r
}

func (r *ruleset) addNAT(id, addr string, n netplan.NAT) {
	for _, only := range outermost(n.Only) {
		r.add(id, "nat_only", "", addr, only.String())
	}
	if len(n.Only) > 0 {
		return
	}
	r.add(id, "nat_src", "", addr)
	for _, except := range outermost(n.Except) {
		r.add(id, "nat_except", "", addr, except.String())
	}
}

// outermost leaves out networks that lie within others: an nftables set has no overlapping elements.
func outermost(list []netip.Prefix) []netip.Prefix {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b netip.Prefix) int { return a.Bits() - b.Bits() })
	var out []netip.Prefix
	for _, p := range sorted {
		if !slices.ContainsFunc(out, func(o netip.Prefix) bool { return o.Overlaps(p) }) {
			out = append(out, p)
		}
	}
	return out
}

// add puts an element into a set, or into a map when there is a verdict. The first to claim a key keeps it.
func (r *ruleset) add(id, set, verdict string, key ...string) {
	e := &knftables.Element{Key: key, Comment: &id}
	if verdict != "" {
		e.Map, e.Value = set, []string{verdict}
	} else {
		e.Set = set
	}
	name := set + " " + strings.Join(key, " ")
	if _, taken := r.elements[name]; !taken {
		r.elements[name] = e
	}
}

func protocolName(p netplan.Protocol) string {
	if p == netplan.UDP {
		return "udp"
	}
	return "tcp"
}

// balance is the rule that picks a backend: by chance for each connection, or by the client's address.
func balance(lb netplan.LoadBalancer) string {
	var targets []string
	for i, b := range lb.Backends {
		targets = append(targets, fmt.Sprintf("%d : %s . %d", i, b.Addr(), b.Port()))
	}
	pick := "numgen random"
	if lb.ByClient {
		pick = "jhash ip saddr"
	}
	return fmt.Sprintf("meta l4proto %s dnat ip to %s mod %d map { %s }",
		protocolName(lb.Protocol), pick, len(lb.Backends), strings.Join(targets, ", "))
}

// applyRules writes the rules: the difference when what is there is known, all of it otherwise.
func (p *Plane) applyRules(ctx context.Context, plan netplan.Plan, deep bool) error {
	want := rulesOf(plan)
	var tx *knftables.Transaction
	if p.rules == nil || deep {
		tx = p.replaceAll(want)
	} else {
		tx = p.difference(p.rules, want)
	}
	if tx.NumOperations() == 0 {
		return nil
	}
	p.rules = nil
	if err := netns.Do(p.cfg.Netns, func() error { return p.nft.Run(ctx, tx) }); err != nil {
		return err
	}
	generation, err := p.generation()
	if err != nil {
		return err
	}
	p.rules, p.committed = want, generation
	return nil
}

func (p *Plane) replaceAll(want *ruleset) *knftables.Transaction {
	tx := p.nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	p.frame(tx)
	addChains(tx, want.chains)
	for _, name := range slices.Sorted(maps.Keys(want.elements)) {
		tx.Add(want.elements[name])
	}
	return tx
}

func addChains(tx *knftables.Transaction, chains map[string]chain) {
	for _, name := range slices.Sorted(maps.Keys(chains)) {
		tx.Add(&knftables.Chain{Name: name})
		tx.Flush(&knftables.Chain{Name: name})
		id := chains[name].id
		tx.Add(&knftables.Rule{Chain: name, Rule: chains[name].rule, Comment: &id})
	}
}

func (p *Plane) difference(have, want *ruleset) *knftables.Transaction {
	tx := p.nft.NewTransaction()
	changed := map[string]chain{}
	for name, c := range want.chains {
		if have.chains[name] != c {
			changed[name] = c
		}
	}
	addChains(tx, changed)
	same := func(a, b *knftables.Element) bool {
		return a != nil && b != nil && slices.Equal(a.Value, b.Value) && *a.Comment == *b.Comment
	}
	for _, name := range slices.Sorted(maps.Keys(have.elements)) {
		if e := have.elements[name]; !same(e, want.elements[name]) {
			tx.Delete(e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.elements)) {
		if e := want.elements[name]; !same(e, have.elements[name]) {
			tx.Add(e)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have.chains)) {
		if _, kept := want.chains[name]; !kept {
			tx.Delete(&knftables.Chain{Name: name})
		}
	}
	return tx
}

// frame is the table without what the plan puts into it. Only packets that come in over a bridge or the uplink pass
// prerouting, so the host itself reaches neither virtual addresses nor its own node ports, as on Windows.
func (p *Plane) frame(tx *knftables.Transaction) {
	tx.Add(&knftables.Table{Comment: new("Host Networking Service")})
	tx.Add(&knftables.Map{Name: "vip", Type: "ipv4_addr . inet_proto . inet_service : verdict"})
	tx.Add(&knftables.Map{Name: "nodeport", Type: "inet_proto . inet_service : verdict"})
	tx.Add(&knftables.Set{Name: "self", Type: "ipv4_addr . ipv4_addr"})
	tx.Add(&knftables.Set{Name: "nat_src", Type: "ipv4_addr"})
	interval := []knftables.SetFlag{knftables.IntervalFlag}
	tx.Add(&knftables.Set{Name: "nat_except", Type: "ipv4_addr . ipv4_addr", Flags: interval})
	tx.Add(&knftables.Set{Name: "nat_only", Type: "ipv4_addr . ipv4_addr", Flags: interval})
	nat := func(name string, hook knftables.BaseChainHook, prio knftables.BaseChainPriority) {
		tx.Add(&knftables.Chain{
			Name: name, Type: knftables.PtrTo(knftables.NATType), Hook: &hook, Priority: &prio,
		})
	}
	nat("prerouting", knftables.PreroutingHook, knftables.DNATPriority)
	nat("postrouting", knftables.PostroutingHook, knftables.SNATPriority)
	bridges, uplink := `"`+bridgePrefix+`*"`, `"`+p.cfg.Uplink+`"`
	for _, r := range []knftables.Rule{
		{Chain: "prerouting", Rule: "iifname " + bridges + " ip daddr . meta l4proto . th dport vmap @vip"},
		{Chain: "prerouting", Rule: "iifname " + uplink + " fib daddr type local meta l4proto . th dport vmap @nodeport"},
		// A pod that a load balancer sends to itself would drop a packet from its own address.
		{Chain: "postrouting", Rule: "ip saddr . ip daddr @self masquerade"},
		// A backend elsewhere has to answer through this host, which knows what was translated.
		{Chain: "postrouting", Rule: "iifname " + uplink + " oifname " + uplink + " ct status dnat masquerade"},
		{Chain: "postrouting", Rule: "ip saddr . ip daddr @nat_only masquerade"},
		{Chain: "postrouting", Rule: "oifname " + bridges + " accept"},
		{Chain: "postrouting", Rule: "ip saddr . ip daddr @nat_except accept"},
		{Chain: "postrouting", Rule: "ip saddr @nat_src masquerade"},
	} {
		tx.Add(&r)
	}
}
