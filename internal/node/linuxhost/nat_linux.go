package linuxhost

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
)

// natTable and podTable are the nftables tables in the node's network namespace.
const natTable, podTable = "mullion", "mullion_pods"

// NAT is the rule by which a node's pods reach the world outside of the cluster under the node's address, and those by
// which everything else that pods send has their own.
type NAT struct {
	// Netns is the node's pinned network namespace.
	Netns string
	// Pods is the cluster's subnet of pods; Inside are the subnets that are reached from pods under their own
	// addresses.
	Pods   netip.Prefix
	Inside []netip.Prefix
	// DualStack: the node routes IPv6 too. Nothing of it leaves the cluster, so nothing is translated.
	DualStack bool
	// Routed: each pod has a pair of interfaces of its own with the node, and the node a route to the pod there. What
	// comes from the pod with an address that is not routed to it is dropped.
	Routed bool
	// TunnelPort, unless 0, is the UDP port at which nodes take frames of the overlay. Pods send nothing there, because
	// nodes believe what is in them.
	TunnelPort uint16
}

// Apply makes the rules, or makes them anew.
func (c NAT) Apply(ctx context.Context) error {
	err := netns.Do(c.Netns, func() error {
		nft, err := knftables.New(knftables.IPv4Family, natTable)
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		if err := nft.Run(ctx, c.rules(nft)); err != nil {
			return err
		}
		if nft, err = knftables.New(knftables.InetFamily, podTable); err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		if err := nft.Run(ctx, c.podRules(nft)); err != nil || !c.DualStack {
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

// podRules replaces the table of the rules for what pods send. Programs may send from any address with IPv6
// (IPV6_FREEBIND), and with NET_RAW, which containers have by default, from any address at all.
func (c NAT) podRules(nft knftables.Interface) *knftables.Transaction {
	const pods = `iifname "veth*"` // as the plugin ptp names them
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	if !c.Routed {
		return tx
	}
	tx.Add(&knftables.Table{Comment: new("what pods must not send")})
	for name, hook := range map[string]knftables.BaseChainHook{
		"prerouting": knftables.PreroutingHook, "input": knftables.InputHook, "forward": knftables.ForwardHook,
	} {
		priority := knftables.FilterPriority
		if name == "prerouting" {
			priority = knftables.RawPriority
		}
		tx.Add(&knftables.Chain{
			Name:     name,
			Type:     knftables.PtrTo(knftables.FilterType),
			Hook:     &hook,
			Priority: &priority,
		})
		if c.TunnelPort != 0 && name != "prerouting" {
			tx.Add(&knftables.Rule{Chain: name, Rule: knftables.Concat(pods, "udp dport", c.TunnelPort, "drop")})
		}
	}
	// Neighbour discovery begins without an address.
	tx.Add(&knftables.Rule{Chain: "prerouting", Rule: pods + " ip6 saddr :: accept"})
	tx.Add(&knftables.Rule{Chain: "prerouting", Rule: pods + " fib saddr . iif oif missing drop"})
	return tx
}
