package linuxhost

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
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
	// Pods are the cluster's subnets of pods, one of each family that the node has; Inside are the subnets that are
	// reached from pods under their own addresses.
	Pods, Inside []netip.Prefix
	// Routed: each pod has a pair of interfaces of its own with the node, and the node a route to the pod there. What
	// comes from the pod with an address that is not routed to it is dropped.
	Routed bool
	// TunnelPort, unless 0, is the UDP port at which nodes take frames of the overlay. Pods send nothing there, because
	// nodes believe what is in them.
	TunnelPort uint16
}

// Apply makes the rules, or makes them anew. With pods of IPv6 the node routes IPv6 too.
func (c NAT) Apply(ctx context.Context) error {
	err := netns.Do(c.Netns, func() error {
		for _, pods := range c.Pods {
			nft, err := knftables.New(familyOf(pods), natTable)
			if err != nil {
				return fmt.Errorf("use nftables: %w", err)
			}
			if err := nft.Run(ctx, c.rules(nft, pods)); err != nil {
				return err
			}
		}

		nft, err := knftables.New(knftables.InetFamily, podTable)
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		if err := nft.Run(ctx, c.podRules(nft)); err != nil || !slices.ContainsFunc(c.Pods, is6) {
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

func is6(p netip.Prefix) bool { return p.Addr().Is6() }

// familyOf returns a network's family, which is also its name in rules: ip or ip6.
func familyOf(p netip.Prefix) knftables.Family {
	if is6(p) {
		return knftables.IPv6Family
	}
	return knftables.IPv4Family
}

// rules replaces the table of one family, that of the pods, as a whole.
func (c NAT) rules(nft knftables.Interface, pods netip.Prefix) *knftables.Transaction {
	family := familyOf(pods)
	var inside []string
	for _, p := range c.Inside {
		if familyOf(p) == family {
			inside = append(inside, p.Masked().String())
		}
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
			family, "saddr", pods.Masked().String(), family, "daddr != {", strings.Join(inside, ", "), "}",
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
