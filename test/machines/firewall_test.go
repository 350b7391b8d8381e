//go:build machines

package machines

import (
	"context"
	"strings"
	"testing"
)

// ours prints what a cluster has in the machine's firewall: its own tables, and its rules in those of others, which
// have counters and handles of their own.
const ours = `ours() {
nft list tables | awk '/ mullion_/ {print $2, $3}' | sort |
	while read -r family table; do nft -s list table "$family" "$table"; done
nft -s list ruleset | awk '/^table/ {table = $2 " " $3} /mullion/ && table !~ / mullion_/ {print table, $0}' | sed 's/counter packets [0-9]* bytes [0-9]* //' | sort -u
}
`

// firewalls restarts and reloads the machine's firewall beside a cluster, each by its own program. Each time the
// cluster has soon what it had, and says so, and its pods are served as before.
func (try *trial) firewalls(ctx context.Context, t *testing.T) {
	t.Helper()
	firewall := map[string][]string{
		"ufw":       {"ufw reload", "systemctl restart ufw"},
		"firewalld": {"firewall-cmd -q --reload", "firewall-cmd -q --complete-reload", "systemctl restart firewalld"},
	}[try.machine.Firewall]

	// Debian's own flushes all rules of others, whose owner then has to begin anew.
	flush := "systemctl restart nftables"
	if len(firewall) > 0 {
		flush += "; systemctl stop nftables; " + firewall[len(firewall)-1]
	}

	try.run(ctx, t, ours+"ours >/root/firewall-before; grep -q 'table ip mullion_' /root/firewall-before")
	for _, does := range append(firewall, flush, "sysctl -q --system") {
		t.Run(strings.ReplaceAll(does, " ", "-"), func(t *testing.T) {
			try.run(ctx, t, does)
			try.eventually(ctx, t, "as before", ours+"ours >/root/firewall-now; diff /root/firewall-before /root/firewall-now; "+
				"cmp -s /root/firewall-before /root/firewall-now && mullion status >/dev/null && echo as before")
			try.sample(ctx, t)
		})
	}
}
