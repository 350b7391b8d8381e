package diagnose

import (
	"fmt"
	"time"
)

func networkChangedProbe() Probe {
	return Probe{
		ID:     "network-changed-by-others",
		Title:  "something on the node's machine takes away what its network is made of",
		Source: Source{"flush ruleset", "https://www.netfilter.org/projects/nftables/manpage.html"},
		Looks:  "events of Windows nodes",
		Needs:  []Need{Events},
		Cause: "a firewall that starts or reloads beside the node flushes rules that are not its own (`nft flush ruleset` in " +
			"nftables.service), or a program deletes links that it does not know; they were put back, but packets were lost, " +
			"and for a moment nothing kept strangers out",
		Remedies: []string{
			"find who does it: `journalctl --since TIME` at the event's time on the node's machine, `nft monitor` while it happens",
			"have the firewall keep to its own tables: in /etc/nftables.conf `table inet filter; delete table inet filter` in the place " +
				"of `flush ruleset`, and with NetworkManager or systemd-networkd the links named as not managed",
		},
		look: networkChanged,
	}
}

// networkChanged finds the nodes whose network somebody changed, and was mended.
func networkChanged(v *view) []Finding {
	var found hits
	for _, n := range v.windows {
		for _, e := range v.about[objectKey("Node", "", n.Name)] {
			if e.Reason == "NetworkMended" {
				found.add("node "+n.Name, fmt.Sprintf("event %s%s, the last at %s: %s", e.Reason, times(e),
					e.LastTimestamp.UTC().Format(time.DateTime), shorten(e.Message)))
			}
		}
	}
	return found.findings()
}
