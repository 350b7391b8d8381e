//go:build kernel

package underlay_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// whole returns all that a cluster has in the machine's network and in the fabric, in a form that does not change by
// itself.
func whole(t *testing.T, e env) string {
	t.Helper()
	script := `ip -br addr | sed 's/@[^ ]*//' | sort; ip route | sed 's/ linkdown//' | sort; nft -s list ruleset; ` +
		`cat /proc/sys/net/ipv4/ip_forward`
	fabric := `ip -br link | cut -d' ' -f1 | sed 's/@.*//' | sort; ip route | sort`
	return run(t, e.machine, "sh", "-c", script) + run(t, e.u.FabricNetns(), "sh", "-c", fabric)
}

// Whatever others do to the machine's network beside a cluster, it is as before afterwards, and is said. On a network
// that nobody has touched nothing is mended.
func TestMend(t *testing.T) {
	e := newEnv(t)
	e.subnet6 = netip.MustParsePrefix("fd00:213::/64")
	e.u = e.open(t)

	// As Docker leaves a machine: iptables' forward chain drops, and has a chain for the user's own rules. With
	// iptables-nft they are chains of nftables.
	docker := `nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }
		add chain ip filter DOCKER-USER; flush table ip filter
		add rule ip filter DOCKER-USER counter return; add rule ip filter FORWARD counter jump DOCKER-USER'; `

	run(t, e.machine, "sh", "-c", docker)
	e.up(t)
	pods := netip.MustParsePrefix("10.244.1.0/24")
	if err := e.u.SetPodRoute(t.Context(), netip.MustParseAddr("10.213.0.11"), pods); err != nil {
		t.Fatal(err)
	}

	before := whole(t, e)
	if said, err := e.u.Mend(t.Context()); err != nil || len(said) > 0 {
		t.Fatalf("with nothing to mend: %q, %v", said, err)
	}
	if whole(t, e) != before {
		t.Error("a look has changed something")
	}

	netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")
	inside := e.u.HostNetns("win-a")
	for _, tt := range []struct{ name, does, says string }{
		{"a restart of nftables.service", "nft flush ruleset; " + docker, "nftables table ip mullion_mullion0 was gone"},
		{"a table deleted", "nft delete table ip6 mullion_mullion0", "nftables table ip6 mullion_mullion0 was gone"},
		{
			"a rule deleted", `h=$(nft -a list chain ip mullion_mullion0 forward | awk '/ drop # handle/ {print $NF; exit}')
				nft delete rule ip mullion_mullion0 forward handle $h`, "was changed by somebody",
		},
		{"a chain flushed", "nft flush chain ip mullion_mullion0 postrouting", "was changed by somebody"},
		{"iptables -F and Docker's start", docker, "pass the firewall's forward chain"},
		{
			"iptables-restore, as ufw does", `nft -s list table ip filter | grep -v mullion >saved
				(echo 'delete table ip filter'; cat saved) | nft -f -; rm saved`,
			"pass the firewall's forward chain",
		},
		{
			"a reload of firewalld", `nft 'add table inet firewalld; add chain inet firewalld filter_FORWARD {
				type filter hook forward priority 10; policy accept; }
				add rule inet firewalld filter_FORWARD ct state established,related accept
				add rule inet firewalld filter_FORWARD iifname "mullion0" accept
				add rule inet firewalld filter_FORWARD oifname "mullion0" accept
				add rule inet firewalld filter_FORWARD reject with icmpx admin-prohibited'; ` + docker +
				`nft delete table inet firewalld`, "pass the firewall's forward chain",
		},
		{"the link deleted", "ip link del mullion0", `link "mullion0" of the machine was gone`},
		{"the link down", "ip link set mullion0 down", `link "mullion0" of the machine was down`},
		{"its address deleted", "ip addr flush dev mullion0 scope global", "had lost its address 10.213.0.254"},
		{"a route deleted", "ip route del 10.244.1.0/24", "the route to 10.244.1.0/24 was gone"},
		{"sysctl --system", "echo 0 >/proc/sys/net/ipv4/ip_forward", "net.ipv4.ip_forward"},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			run(t, e.machine, "sh", "-c", tt.does)
			faults, err := e.u.Faults(t.Context())
			if err != nil || !strings.Contains(strings.Join(faults, "\n"), tt.says) {
				t.Errorf("it lacks %q, %v", faults, err)
			}
			said, err := e.u.Mend(t.Context())
			if err != nil || !slices.Equal(said, faults) {
				t.Errorf("mended %q, %v", said, err)
			}

			if after := whole(t, e); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
			netnstest.Flow(t, inside, "198.51.100.2:80", "outside", "198.51.100.1")
			if said, err := e.u.Mend(t.Context()); err != nil || len(said) > 0 {
				t.Errorf("a second time: %q, %v", said, err)
			}
		})
	}

	run(t, e.u.FabricNetns(), "sh", "-c", "ip link del $(ip -br link | grep -o '^h[0-9a-f]*' | head -1)")
	said, err := e.u.Mend(t.Context())
	if err != nil || len(said) == 0 || !strings.Contains(said[0], "the link of node") {
		t.Errorf("a node's link: %q, %v", said, err)
	}
	netnstest.Flow(t, inside, "198.51.100.2:80", "outside", "198.51.100.1")
}

// wantWhole checks that nothing is missing of a network that nobody has touched, and that a flushed table, and with it
// what a network of that kind has there, comes back.
func wantWhole(t *testing.T, u *underlay.Underlay, machine string) {
	t.Helper()
	if faults, err := u.Faults(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("nobody has touched it, and it lacks %q, %v", faults, err)
	}

	before := run(t, machine, "nft", "-s", "list", "ruleset")
	run(t, machine, "nft", "flush", "ruleset")
	if said, err := u.Mend(t.Context()); err != nil || len(said) == 0 {
		t.Errorf("after a flush it mends %q, %v", said, err)
	}
	if after := run(t, machine, "nft", "-s", "list", "ruleset"); after != before {
		t.Errorf("before the flush:\n%s\nand after:\n%s", before, after)
	}
}

// A machine that did not forward before does not do so after Down, though its link was deleted and made again
// meanwhile.
func TestMendRemembersTheMachine(t *testing.T) {
	e := newEnv(t)
	before := state(t, e.machine)
	e.up(t)
	run(t, e.machine, "ip", "link", "del", "mullion0")
	if said, err := e.u.Mend(t.Context()); err != nil || len(said) == 0 {
		t.Fatalf("mended %q, %v", said, err)
	}
	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := state(t, e.machine); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Watch asks for a look soon after a change, and not for ever more because of its own mending.
func TestWatch(t *testing.T) {
	e := newEnv(t)
	e.up(t)
	ctx, cancel := context.WithCancel(t.Context())
	looks, ended := make(chan []string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		e.u.Watch(ctx, func() {
			said, err := e.u.Mend(ctx)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			looks <- said
		}, func(err error) { t.Error(err) })
	}()

	defer func() {
		cancel()
		<-ended
	}()

	for _, does := range []string{"nft flush ruleset", "ip link del mullion0", "nft flush ruleset"} {
		begin := time.Now()
		run(t, e.machine, "sh", "-c", does)
		for mended := false; !mended; {
			select {
			case said := <-looks:
				mended = len(said) > 0
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: not mended", does)
			}
		}

		t.Logf("%s: mended after %s", does, time.Since(begin).Round(time.Millisecond))
	}

	quiet := time.After(4 * time.Second)
	for n := 0; ; n++ {
		select {
		case said := <-looks:
			if len(said) > 0 || n > 3 {
				t.Fatalf("look %d by itself mends %q", n, said)
			}
			continue
		case <-quiet:
		}

		break
	}
}

var _ interface {
	Watch(context.Context, func(), func(error))
} = (*underlay.Underlay)(nil)
