package filter

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/policy"
)

// Filter is the table of one node. It is not safe for concurrent use.
type Filter struct {
	// Netns is the node's pinned network namespace.
	Netns string

	nft  knftables.Interface // nil until it is needed
	have *policy.Ruleset     // nil: unknown
}

// Apply makes the table look like want, and reports whether anything had to be changed. If the table is not as it was
// left, it is made anew.
func (f *Filter) Apply(ctx context.Context, want policy.Ruleset) (changed bool, err error) {
	if f.have != nil {
		tx := f.nft.NewTransaction()
		change(tx, *f.have, want)
		if tx.NumOperations() == 0 {
			return false, nil
		}
		if f.do(func() error { return f.nft.Run(ctx, tx) }) == nil {
			f.have = &want
			return true, nil
		}

		f.have = nil
	}

	err = f.do(func() error {
		tx := f.nft.NewTransaction()
		replace(tx)
		change(tx, policy.Ruleset{}, want)
		return f.nft.Run(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("set the network policies of network namespace %q: %w", f.Netns, err)
	}

	f.have = &want
	return true, nil
}

// Check looks whether the table still has its chains; if it does not, the next Apply makes the table anew. A table
// without policies is not looked at.
func (f *Filter) Check(ctx context.Context) error {
	if f.have == nil || len(f.have.Chains) == 0 {
		return nil
	}

	return f.do(func() error {
		chains, err := f.nft.List(ctx, "chains")
		if err != nil && !knftables.IsNotFound(err) {
			return err
		}
		slices.Sort(chains)
		if want := slices.Sorted(maps.Keys(f.have.Chains)); !slices.Equal(chains, append(want, "forward")) {
			f.have = nil
		}

		return nil
	})
}

// Addresses returns those of the pods that an earlier process isolated, as the table has them.
func (f *Filter) Addresses(ctx context.Context) (policy.Addresses, error) {
	found := policy.Addresses{}
	err := f.do(func() error {
		for _, family := range policy.Families() {
			for _, name := range []string{policy.In, policy.Out} {
				list, err := f.nft.ListElements(ctx, "map", name+family.Suffix)
				if knftables.IsNotFound(err) {
					return nil // no table
				}
				if err != nil {
					return err
				}
				add(found, list)
			}
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the network policies of network namespace %q: %w", f.Netns, err)
	}

	return found, nil
}

func add(to policy.Addresses, elements []*knftables.Element) {
	for _, e := range elements {
		a, err := netip.ParseAddr(strings.Join(e.Key, ""))
		if err != nil || e.Comment == nil {
			continue
		}
		if pod := types.UID(*e.Comment); !slices.Contains(to[pod], a) {
			to[pod] = append(to[pod], a)
		}
	}
}

// do runs what in the node's network namespace.
func (f *Filter) do(what func() error) error {
	return netns.Do(f.Netns, func() error {
		if f.nft == nil {
			nft, err := knftables.New(knftables.InetFamily, policy.Table)
			if err != nil {
				return fmt.Errorf("use nftables: %w", err)
			}
			f.nft = nft
		}
		return what()
	})
}

// replace removes the table, if there is one, and adds one with what never changes but its rules, which name sets.
func replace(tx *knftables.Transaction) {
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	tx.Add(&knftables.Table{Comment: new("NetworkPolicies")})
	tx.Add(&knftables.Chain{
		Name:     "forward",
		Type:     new(knftables.FilterType),
		Hook:     new(knftables.ForwardHook),
		Priority: new(knftables.FilterPriority),
	})

	for _, f := range policy.Families() {
		for _, name := range []string{policy.In, policy.Out} {
			tx.Add(&knftables.Map{Name: name + f.Suffix, Type: f.Type() + " : verdict"})
		}
		tx.Add(&knftables.Set{Name: policy.Self + f.Suffix, Type: f.Type() + " . " + f.Type()})
	}

	for _, r := range policy.Frame() {
		tx.Add(&knftables.Rule{Chain: r[0], Rule: r[1]})
	}
}

// change adds what leads from one ruleset to another: new sets and chains come before what names them, old ones go
// after.
func change(tx *knftables.Transaction, have, want policy.Ruleset) {
	for _, name := range slices.Sorted(maps.Keys(want.Sets)) {
		if _, there := have.Sets[name]; !there && !fixed(name) {
			tx.Add(&knftables.Set{Name: name, Type: want.Sets[name].Type})
		}
		changeElements(tx, name, have.Sets[name].Elements, want.Sets[name].Elements)
	}

	for _, name := range added(have.Chains, want.Chains) {
		tx.Add(&knftables.Chain{Name: name})
		for _, rule := range want.Chains[name] {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}

	for _, name := range slices.Sorted(maps.Keys(want.Verdicts)) {
		changeVerdicts(tx, name, have.Verdicts[name], want.Verdicts[name])
	}

	for _, name := range added(want.Chains, have.Chains) {
		tx.Flush(&knftables.Chain{Name: name})
		tx.Delete(&knftables.Chain{Name: name})
	}

	for _, name := range added(want.Sets, have.Sets) {
		tx.Delete(&knftables.Set{Name: name})
	}
}

// added returns the keys that only the second map has, in order.
func added[V any](have, want map[string]V) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, there := have[name]; !there {
			names = append(names, name)
		}
	}
	return names
}

func changeElements(tx *knftables.Transaction, name string, have, want map[string]bool) {
	for _, key := range added(want, have) {
		tx.Delete(&knftables.Element{Set: name, Key: strings.Split(key, " . ")})
	}
	for _, key := range added(have, want) {
		tx.Add(&knftables.Element{Set: name, Key: strings.Split(key, " . ")})
	}
}

// fixed reports whether the set is part of what never changes.
func fixed(set string) bool {
	return slices.ContainsFunc(policy.Families(), func(f policy.Family) bool { return set == policy.Self+f.Suffix })
}

func changeVerdicts(tx *knftables.Transaction, name string, have, want map[netip.Addr]policy.Verdict) {
	for _, addr := range slices.SortedFunc(maps.Keys(have), netip.Addr.Compare) {
		if want[addr] != have[addr] {
			tx.Delete(&knftables.Element{Map: name, Key: []string{addr.String()}})
		}
	}

	for _, addr := range slices.SortedFunc(maps.Keys(want), netip.Addr.Compare) {
		if verdict := want[addr]; verdict != have[addr] {
			tx.Add(&knftables.Element{
				Map:     name,
				Key:     []string{addr.String()},
				Value:   []string{"jump " + verdict.Chain},
				Comment: &verdict.Pod,
			})
		}
	}
}
