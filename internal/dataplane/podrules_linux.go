package dataplane

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// A pod's own namespace has rules only where its packets have to be seen there: those for a proxy in the pod, and access
// rules of a pod that is on the underlay itself. Programs in a pod may not change them.

// ensurePodRules replaces the rules of a port in its pod's namespace.
func (p *Plane) ensurePodRules(s *portSpec) error {
	pin := p.Pin(s.Namespace)
	current, err := generation(pin)
	if err != nil {
		return err
	}
	rules := podRules(s)
	if len(rules) == 0 && current <= freshGeneration {
		return nil // nobody ever committed anything there
	}
	return netns.Do(pin, func() error {
		nft, err := knftables.New(knftables.IPv4Family, "hns_"+s.Name)
		if err != nil {
			return err
		}
		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		if len(rules) > 0 {
			tx.Add(&knftables.Table{Comment: new(s.ID)})
			for _, c := range []knftables.Chain{
				base("opened", knftables.NATType, knftables.OutputHook, knftables.DNATPriority),
				base("coming", knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority),
				base("in", knftables.FilterType, knftables.InputHook, knftables.FilterPriority),
				base("out", knftables.FilterType, knftables.OutputHook, knftables.FilterPriority),
			} {
				tx.Add(&c)
			}
			for _, r := range rules {
				tx.Add(&knftables.Rule{Chain: r[0], Rule: r[1]})
			}
		}
		if err := nft.Run(context.Background(), tx); err != nil {
			return fmt.Errorf("set rules in the pod's namespace: %w", err)
		}
		return nil
	})
}

// freshGeneration is that of a namespace where nothing was ever committed.
const freshGeneration = 1

// podRules are pairs of chain and rule.
func podRules(s *portSpec) [][2]string {
	var rules [][2]string
	for _, x := range s.Proxies {
		if rule, ok := proxyRule(s.Name, x); ok {
			chain := "opened"
			if x.In {
				chain = "coming"
			}
			rules = append(rules, [2]string{chain, rule})
		}
	}
	for _, chain := range []string{"in", "out"} {
		access := accessRules(s.podACL(), chain == "in")
		if len(access) == 0 {
			continue
		}
		direction := map[string]string{"in": "iifname", "out": "oifname"}[chain]
		rules = append(rules, [2]string{chain, direction + ` != "` + s.Name + `" accept`}, [2]string{chain, "ct state established,related accept"})
		for _, r := range access {
			rules = append(rules, [2]string{chain, r})
		}
	}
	return rules
}

// proxyRule sends connections on to the proxy's port; not ok if it never matches IPv4.
func proxyRule(link string, x netplan.Proxy) (string, bool) {
	direction, remote := "oifname", "ip daddr"
	if x.In {
		direction, remote = "iifname", "ip saddr"
	}
	parts := []string{direction, `"` + link + `"`, fmt.Sprintf("meta l4proto %d", x.Protocol)}
	if len(x.Remote) > 0 {
		match, ok := matchAddrs(x.Remote)
		if !ok {
			return "", false
		}
		parts = append(parts, remote, match)
	}
	if match, ok := matchAddrs(x.Except); ok {
		parts = append(parts, remote, "!=", match)
	}
	if len(x.Ports) > 0 {
		parts = append(parts, "th dport", matchPorts(x.Ports))
	}
	return strings.Join(append(parts, fmt.Sprintf("redirect to :%d", x.Port)), " "), true
}
