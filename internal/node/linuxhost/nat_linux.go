package linuxhost

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
)

// natTable is the nftables table in the node's network namespace.
const natTable = "mullion"

// NAT is the rule by which a node's pods reach the world outside of the cluster under the node's address. All other
// packets keep the pod's address.
type NAT struct {
	// Netns is the node's pinned network namespace.
	Netns string
	// Pods is the cluster's subnet of pods; Inside are the subnets that are reached from pods under their own
	// addresses.
	Pods   netip.Prefix
	Inside []netip.Prefix
	// DualStack: the node routes IPv6 too. Nothing of it leaves the cluster, so nothing is translated.
	DualStack bool
}

// Apply makes the rules, or makes them anew.
func (c NAT) Apply(ctx context.Context) error {
	err := netns.Do(c.Netns, func() error {
		nft, err := knftables.New(knftables.IPv4Family, natTable)
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		if err := nft.Run(ctx, c.rules(nft)); err != nil || !c.DualStack {
			return err
		}
		_, err = netns.Sysctl("net/ipv6/conf/all/forwarding", "1")
		return err
	})
	if err != nil {
		return fmt.Errorf("set rules of network namespace %q: %w", c.Netns, err)
	}
	return nil
}

// rules replaces the table as a whole.
func (c NAT) rules(nft knftables.Interface) *knftables.Transaction {
	inside := make([]string, len(c.Inside))
	for i, p := range c.Inside {
		inside[i] = p.Masked().String()
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	tx.Add(&knftables.Table{Comment: new("what pods send out of the cluster")})
	tx.Add(&knftables.Chain{
		Name:     "postrouting",
		Type:     knftables.PtrTo(knftables.NATType),
		Hook:     knftables.PtrTo(knftables.PostroutingHook),
		Priority: knftables.PtrTo(knftables.SNATPriority),
	})
	tx.Add(&knftables.Rule{
		Chain: "postrouting",
		Rule: knftables.Concat(
			"ip saddr", c.Pods.Masked().String(), "ip daddr != {", strings.Join(inside, ", "), "}",
			"fib daddr type != local", "masquerade"),
	})
	return tx
}
