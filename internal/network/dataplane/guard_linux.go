package dataplane

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
)

// guardTable is a table of its own, of family inet: a kernel that cannot count connections (nft_connlimit) refuses it,
// and the host's other rules stay.
const guardTable = "guard"

const (
	// MostOfPod is how many connections to guarded ports an address of a pod may hold.
	MostOfPod = 64
	// MostOfOther is how many any other address may hold: the control plane has one for each exec and log that is
	// followed.
	MostOfOther = 1024
)

// Guard bounds how many TCP connections one address may hold to ports of the host. What it opens beyond is reset. A
// program of Windows has two descriptors of Linux for each connection, one of them Wine's server's, and the kubelet
// waits hours for one that says nothing. ns is the pin of the host's network namespace, that of the calling process
// when empty; pods are the subnets of pods.
func Guard(ctx context.Context, ns string, pods []netip.Prefix, ports []uint16) error {
	set := func() error {
		nft, err := knftables.New(knftables.InetFamily, guardTable)
		if err != nil {
			return err
		}

		tx := nft.NewTransaction()
		guard(tx, pods, ports)
		return nft.Run(ctx, tx)
	}

	var err error
	if ns == "" {
		err = set()
	} else {
		err = netns.Do(ns, set)
	}
	if err != nil {
		return fmt.Errorf("bound connections to the node's own ports: %w", err)
	}
	return nil
}

// guard replaces the table.
func guard(tx *knftables.Transaction, pods []netip.Prefix, ports []uint16) {
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	tx.Add(&knftables.Table{Comment: new("connections to the node's own ports")})
	to := base("to_host", knftables.FilterType, knftables.InputHook, knftables.FilterPriority)
	tx.Add(&to)

	var guarded []string
	for _, port := range ports {
		guarded = append(guarded, fmt.Sprint(port))
	}

	begin := "tcp dport { " + strings.Join(guarded, ", ") + " } ct state new "

	for _, f := range families() {
		holders := func(name string) string {
			set := knftables.Set{
				Name:  f.name(name),
				Type:  f.in("{proto}_addr"),
				Size:  new(uint64(65535)),
				Flags: []knftables.SetFlag{knftables.DynamicFlag},
			}
			tx.Add(&set)
			return set.Name
		}

		bound := func(set string, most int, which string) {
			tx.Add(&knftables.Rule{Chain: to.Name, Rule: f.in(fmt.Sprintf(
				"%s%sadd @%s { {ip} saddr ct count over %d } counter reject with tcp reset", begin, which, set, most))})
		}

		podSet := holders("pods")
		var subnets []string
		for _, p := range pods {
			if p.IsValid() && f.has(p.Addr()) {
				subnets = append(subnets, p.Masked().String())
			}
		}
		if len(subnets) > 0 {
			list := "{ip} saddr { " + strings.Join(subnets, ", ") + " } "
			bound(podSet, MostOfPod, list)
		}

		bound(holders("others"), MostOfOther, "")
	}
}
