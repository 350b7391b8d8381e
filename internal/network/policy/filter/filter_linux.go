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
	have  *policy.Ruleset // nil: unknown
}

// Apply makes the table look like want, and reports whether anything had to be changed.
func (f *Filter) Apply(ctx context.Context, want policy.Ruleset) (changed bool, err error) {
	err = f.do(func(nft knftables.Interface) error {
		tx := nft.NewTransaction()
		from := policy.Ruleset{}
		if f.have == nil {
			replace(tx)
		} else {
			from = *f.have
		}
		change(tx, from, want)
		f.have = nil
		if changed = tx.NumOperations() > 0; changed {
			if err := nft.Run(ctx, tx); err != nil {
				return err
			}
		}
		f.have = &want
		return nil
	})
	if err != nil {
		err = fmt.Errorf("set the network policies of network namespace %q: %w", f.Netns, err)
	}
	return changed, err
}

// Check looks whether the table still has its chains; if it does not, the next Apply makes the table anew.
func (f *Filter) Check(ctx context.Context) error {
	if f.have == nil {
		return nil
	}
	return f.do(func(nft knftables.Interface) error {
		chains, err := nft.List(ctx, "chains")
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

// Addresses are those of the pods that an earlier process isolated, as the table has them.
func (f *Filter) Addresses(ctx context.Context) (policy.Addresses, error) {
	found := policy.Addresses{}
	err := f.do(func(nft knftables.Interface) error {
		for _, family := range policy.Families() {
			for _, name := range []string{policy.In, policy.Out} {
				list, err := nft.ListElements(ctx, "map", name+family.Suffix)
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

func (f *Filter) do(what func(knftables.Interface) error) error {
	return netns.Do(f.Netns, func() error {
		nft, err := knftables.New(knftables.InetFamily, policy.Table)
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		return what(nft)
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
		set, old := want.Sets[name], have.Sets[name]
		if _, there := have.Sets[name]; !there && !fixed(name) {
			tx.Add(&knftables.Set{Name: name, Type: set.Type})
		}
		for _, key := range slices.Sorted(maps.Keys(old.Elements)) {
			if !set.Elements[key] {
				tx.Delete(&knftables.Element{Set: name, Key: strings.Split(key, " . ")})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(set.Elements)) {
			if !old.Elements[key] {
				tx.Add(&knftables.Element{Set: name, Key: strings.Split(key, " . ")})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Chains)) {
		if _, there := have.Chains[name]; there {
			continue
		}
		tx.Add(&knftables.Chain{Name: name})
		for _, rule := range want.Chains[name] {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want.Verdicts)) {
		changeVerdicts(tx, name, have.Verdicts[name], want.Verdicts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(have.Chains)) {
		if _, wanted := want.Chains[name]; !wanted {
			tx.Flush(&knftables.Chain{Name: name})
			tx.Delete(&knftables.Chain{Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have.Sets)) {
		if _, wanted := want.Sets[name]; !wanted {
			tx.Delete(&knftables.Set{Name: name})
		}
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
