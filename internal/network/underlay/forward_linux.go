package underlay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
)

// Docker and other programs that use iptables drop forwarded packets that no rule of theirs accepts. A packet passes
// all chains of a hook, so a rule in our own table cannot let it pass theirs: an accept rule in one of their chains is
// needed. With iptables-nft, which distributions have, such a chain is an ordinary nftables chain. Docker leaves
// DOCKER-USER to the user (https://docs.docker.com/engine/network/packet-filtering-firewalls/); without Docker the
// rules stand in FORWARD.

// filterTable is iptables' table, of family ip, and ip6tables', of family ip6.
const filterTable = "filter"

// forwardChains returns the chains for the accept rules, the best first.
func forwardChains() []string { return []string{"DOCKER-USER", "FORWARD"} }

// acceptForwarding lets the fabric's packets pass iptables' chains, where there are any.
func (u *Underlay) acceptForwarding(ctx context.Context) error {
	families := []knftables.Family{knftables.IPv4Family}
	if u.cfg.Subnet6.IsValid() {
		families = append(families, knftables.IPv6Family)
	}

	return u.inFilterTables(ctx, families, func(nft knftables.Interface, chains []string) error {
		if u.forwarding(ctx, nft, chains) {
			return nil
		}

		tx := nft.NewTransaction()
		u.dropAccepts(ctx, nft, tx, chains)
		for _, chain := range forwardChains() {
			if !slices.Contains(chains, chain) {
				continue
			}

			for _, direction := range []string{"iifname", "oifname"} {
				tx.Insert(&knftables.Rule{
					Chain:   chain,
					Rule:    direction + ` "` + u.cfg.Link + `" counter accept`,
					Comment: new(u.ruleComment()),
				})
			}

			break
		}

		return nft.Run(ctx, tx)
	})
}

// removeAccepts removes the rules that acceptForwarding added.
func (u *Underlay) removeAccepts(ctx context.Context) error {
	families := []knftables.Family{knftables.IPv4Family, knftables.IPv6Family}
	return u.inFilterTables(ctx, families, func(nft knftables.Interface, chains []string) error {
		tx := nft.NewTransaction()
		u.dropAccepts(ctx, nft, tx, chains)
		if tx.NumOperations() == 0 {
			return nil
		}
		return nft.Run(ctx, tx)
	})
}

func (u *Underlay) ruleComment() string { return "mullion " + u.cfg.Link }

// forwarding reports whether both rules are in the best chain there is.
func (u *Underlay) forwarding(ctx context.Context, nft knftables.Interface, chains []string) bool {
	for _, chain := range forwardChains() {
		if slices.Contains(chains, chain) {
			return len(u.accepts(ctx, nft, chain)) == 2
		}
	}
	return true // there is no chain that drops
}

func (u *Underlay) accepts(ctx context.Context, nft knftables.Interface, chain string) []*knftables.Rule {
	rules, err := nft.ListRules(ctx, chain)
	if err != nil {
		return nil // a chain that nft cannot show has no rule of ours
	}
	return slices.DeleteFunc(rules, func(r *knftables.Rule) bool {
		return r.Comment == nil ||
			*r.Comment != u.ruleComment()
	})
}

func (u *Underlay) dropAccepts(ctx context.Context, nft knftables.Interface, tx *knftables.Transaction,
	chains []string,
) {
	for _, chain := range forwardChains() {
		if !slices.Contains(chains, chain) {
			continue
		}
		for _, r := range u.accepts(ctx, nft, chain) {
			tx.Delete(&knftables.Rule{Chain: chain, Handle: r.Handle})
		}
	}
}

// inFilterTables calls f with iptables' tables of the families, as far as there are any, and their chains.
func (u *Underlay) inFilterTables(ctx context.Context, families []knftables.Family,
	f func(nft knftables.Interface, chains []string) error,
) error {
	err := netns.Do(u.cfg.MachineNetns, func() error {
		var errs []error
		for _, family := range families {
			errs = append(errs, inFilterTable(ctx, family, f))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return fmt.Errorf("let the cluster's packets pass iptables' chains: %w", err)
	}
	return nil
}

func inFilterTable(ctx context.Context, family knftables.Family,
	f func(nft knftables.Interface, chains []string) error,
) error {
	nft, err := knftables.New(family, filterTable)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}

	chains, err := nft.List(ctx, "chains")
	if err != nil && ctx.Err() == nil {
		return nil // no such table, or one that nft cannot show and we cannot change
	}
	if err != nil {
		return err
	}
	return f(nft, chains)
}
