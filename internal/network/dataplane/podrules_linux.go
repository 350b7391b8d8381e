package dataplane

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// A pod's own namespace has rules only where its packets have to be seen there: those for a proxy in the pod, and
// access rules of a pod that is on the underlay itself. Programs in a pod may not change them.

// ensurePodRules replaces the rules of a port in its pod's namespace.
func (p *space) ensurePodRules(ctx context.Context, s *portSpec) error {
	pin := p.pin(s.Namespace)
	current, err := generation(pin)
	if err != nil {
		return err
	}
	chains := podChains(s, p.cfg.Users)
	if len(chains) == 0 && current <= freshGeneration {
		return nil // nobody ever committed anything there
	}

	err = netns.Do(pin, func() error {
		nft, err := knftables.New(knftables.InetFamily, "hns_"+s.Name)
		if err != nil {
			return err
		}

		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		if len(chains) > 0 {
			podTable(tx, s.ID, chains)
		}
		if err := nft.Run(ctx, tx); err != nil {
			return fmt.Errorf("set rules in the pod's namespace: %w", err)
		}

		return nil
	})
	if err != nil {
		return err
	}

	current, err = generation(pin)
	p.podRules[s.Namespace] = current
	return err
}

// podRuleDifferences returns a line for each pod's namespace in which somebody else has committed rules.
func (p *space) podRuleDifferences() ([]string, error) {
	var found []string
	for id, made := range p.podRules {
		if there, err := netns.Exists(p.pin(id)); err != nil || !there {
			continue // the missing namespace is reported elsewhere
		}
		current, err := generation(p.pin(id))
		if err != nil {
			return nil, err
		}

		if current != made {
			found = append(found, "changed: rules in namespace "+id)
		}
	}

	return found, nil
}

// freshGeneration is the generation of a namespace where nothing was ever committed.
const freshGeneration = 1

// podTable adds a table with the chains.
func podTable(tx *knftables.Transaction, comment string, chains map[string][]string) {
	tx.Add(&knftables.Table{Comment: &comment})
	for _, c := range []knftables.Chain{
		base("opened", knftables.NATType, knftables.OutputHook, knftables.DNATPriority),
		base("coming", knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority),
		base("in", knftables.FilterType, knftables.InputHook, knftables.FilterPriority),
		base("out", knftables.FilterType, knftables.OutputHook, knftables.FilterPriority),
	} {
		tx.Add(&c)
	}

	names := slices.Sorted(maps.Keys(chains))
	for _, name := range names {
		if strings.HasPrefix(name, accessPrefix) {
			tx.Add(&knftables.Chain{Name: name})
		}
	}

	for _, name := range names {
		for _, rule := range chains[name] {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
}

// podChains returns the rules of a port's chains in its pod.
func podChains(s *portSpec, users Users) map[string][]string {
	chains := map[string][]string{}
	for _, x := range s.Proxies {
		chain := "opened"
		if x.In {
			chain = "coming"
		}
		for _, f := range families() {
			if rule, ok := proxyRule(f, s.Name, x, users); ok {
				chains[chain] = append(chains[chain], rule)
			}
		}
	}

	for chain, direction := range map[string]string{"in": "iifname", "out": "oifname"} {
		var rules []string
		for _, f := range families() {
			tiers, first := accessTiers(f, s.podACL(), chain == "in")
			for name, tier := range tiers {
				chains[name] = tier.rules
			}
			if first != "" {
				rules = append(rules, f.in("meta nfproto {proto} ")+direction+` "`+s.Name+`" goto `+first)
			}
		}
		if len(rules) > 0 {
			chains[chain] = append([]string{neighbours, "ct state established,related accept"}, rules...)
		}
	}

	return chains
}

// otherThan matches what is not of one of the users.
func (u Users) otherThan(uids []uint32) string {
	list := make([]string, len(uids))
	for i, uid := range uids {
		list[i] = fmt.Sprint(uid)
	}
	return fmt.Sprintf("meta skuid & %d != { %s }", u.Mask, strings.Join(list, ", "))
}

// proxyRule returns the rule that sends connections of a family to the proxy's port. ok is false if no connection of
// the family can match. ExceptUser counts for outgoing connections only: an incoming one has no user in the pod.
func proxyRule(f family, link string, x netplan.Proxy, users Users) (string, bool) {
	direction, remote := "oifname", f.in("{ip} daddr")
	if x.In {
		direction, remote = "iifname", f.in("{ip} saddr")
	}
	parts := []string{
		f.in("meta nfproto {proto}"), direction, `"` + link + `"`,
		fmt.Sprintf("meta l4proto %d", x.Protocol),
	}

	if len(x.Remote) > 0 {
		match, ok := f.matchAddrs(x.Remote)
		if !ok {
			return "", false
		}
		parts = append(parts, remote, match)
	}

	if match, ok := f.matchAddrs(x.Except); ok {
		parts = append(parts, remote, "!=", match)
	}
	if len(x.Ports) > 0 {
		parts = append(parts, "th dport", matchPorts(x.Ports))
	}
	if len(x.ExceptPorts) > 0 {
		parts = append(parts, "th dport !=", matchPorts(x.ExceptPorts))
	}

	if uids := users.BySID[x.ExceptUser]; len(uids) > 0 && !x.In {
		parts = append(parts, users.otherThan(uids))
	}

	switch {
	case !x.Addr.IsValid():
		parts = append(parts, fmt.Sprintf("redirect to :%d", x.Port))
	case f.has(x.Addr):
		parts = append(parts, fmt.Sprintf("dnat %s to %s", f, netip.AddrPortFrom(x.Addr, x.Port)))
	default:
		return "", false
	}

	return strings.Join(parts, " "), true
}
