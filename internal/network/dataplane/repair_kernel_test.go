//go:build kernel

package dataplane_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// Changes that others make to an overlay are reported and repaired, also those by which pods do not lose their
// interfaces.
func TestRepairsOfAnOverlay(t *testing.T) {
	u := newUnderlay(t)
	planA, planB := overlay("10.244.1", "11"), overlay("10.244.2", "12")
	planA.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12")}
	planB.Peers = []netplan.Peer{peer("a", "10.244.1.0/24", "11")}
	u.a.apply(t, planA)
	u.b.apply(t, planB)

	a5, _, _ := u.serve(t)
	for name, c := range map[string]struct{ harm, want string }{
		"forwarding": {
			"bridge fdb del 00:15:5d:aa:00:12 dev $(ls /proc/sys/net/ipv4/conf | grep ^vx) dst 10.213.0.12",
			"forwarding entry 00:15:5d:aa:00:12 by 10.213.0.12",
		},
		"neighbour": {
			"ip neigh del 10.244.2.0 dev $(ls /proc/sys/net/ipv4/conf | grep ^vx)",
			"neighbour 10.244.2.0 by 00:15:5d:aa:00:12",
		},
		"route":      {"ip route del 10.244.2.0/24", "route to 10.244.2.0/24"},
		"stranger":   {"ip neigh add 10.244.9.0 lladdr 00:15:5d:aa:00:99 dev $(ls /proc/sys/net/ipv4/conf | grep ^vx) nud permanent", "left over: neighbour 10.244.9.0"},
		"vxlan":      {"ip link del $(ls /proc/sys/net/ipv4/conf | grep ^vx)", "VXLAN interface"},
		"vxlan-down": {"ip link set $(ls /proc/sys/net/ipv4/conf | grep ^vx) down", "VXLAN interface"},
		"switch":     {"ip link del $(ls /proc/sys/net/ipv4/conf | grep ^hns)", "bridge"},
		"gateway":    {"ip addr flush dev $(ls /proc/sys/net/ipv4/conf | grep ^hns)", "gateways [10.244.1.1/24]"},
		"port-down":  {"ip link set $(ls /proc/sys/net/ipv4/conf | grep ^vp | head -1) down", "down: "},
	} {
		t.Run(name, func(t *testing.T) {
			// run is inside the host's network namespace, and /proc/sys/net with it.
			run(t, u.a.ns, c.harm)
			found, err := u.a.Differences(t.Context(), planA)
			if err != nil || !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("differences %q, %v; want %q", found, err, c.want)
			}
			u.a.apply(t, planA)
			dataplanetest.Expect(t, u.a, planA)
			netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")
		})
	}
}

func TestRepairsOfATunnel(t *testing.T) {
	u := newUnderlay(t)
	plan := network(netplan.L2Tunnel, "10.244.1")
	u.a.apply(t, plan)
	for name, harm := range map[string]string{
		"rule":  "ip rule del priority 19968",
		"route": "ip route flush table $(ip rule | grep ^19968 | grep -o '[0-9]*$')",
	} {
		t.Run(name, func(t *testing.T) {
			run(t, u.a.ns, harm)
			found, err := u.a.Differences(t.Context(), plan)
			if err != nil || !strings.Contains(strings.Join(found, "\n"), "routing table of "+dataplanetest.Net) {
				t.Errorf("differences %q, %v", found, err)
			}
			u.a.apply(t, plan)
			dataplanetest.Expect(t, u.a, plan)
		})
	}
}

// A process that was killed between a route and its rule leaves a table to which nothing leads.
func TestRoutesWithoutRules(t *testing.T) {
	tunnel := network(netplan.L2Tunnel, "10.244.1")
	pods := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	kept := pods
	kept.LoadBalancers = append(both("kept", "203.0.113.20", 80, keeping, "10.244.1.5:80"),
		both("kept6", "2001:db8::20", 80, keeping, "[fd00:244:1:1::5]:80")...)
	kept.Normalize()

	for name, c := range map[string]struct {
		before, after netplan.Plan
		tables        string // prints the routes in tables of their own
	}{
		"tunnel": {tunnel, netplan.Plan{}, "ip route show table all proto 0x4e | grep 'table [0-9]' || true"},
		"kept": {
			kept, pods,
			"for v in -4 -6; do ip $v route show table all proto 0x4f | grep 'table [0-9]' || true; done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnderlay(t)
			u.a.apply(t, c.before)
			run(t, u.a.ns, `for v in -4 -6; do for p in 19967 19968; do
				while ip $v rule del priority $p 2>/dev/null; do :; done
			done; done`)
			if run(t, u.a.ns, c.tables) == "" {
				t.Fatal("the plan has no route in a table of its own")
			}

			h := u.a.reopen(t)
			h.apply(t, c.after)
			if got := run(t, h.ns, c.tables); got != "" {
				t.Errorf("left behind:\n%s", got)
			}
			h.apply(t, netplan.Plan{})
			nothingLeft(t, h)
		})
	}
}

// busy are plans that a process applies one after another until it is killed.
func busy() []netplan.Plan {
	first := overlay("10.244.1", "11")
	first.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12")}
	first.LoadBalancers = both("x", "10.96.0.1", 80, nil, "10.244.1.6:80")
	first.Ports[0].ACL = []netplan.ACL{{Priority: 1, In: true, Protocol: netplan.TCP}}
	second := dataplanetest.Plan("10.244.1")
	third := network(netplan.L2Tunnel, "10.244.1")
	fourth := network(netplan.Transparent, "10.244.1")
	fourth.Bridges[0].Gateways = nil
	for _, p := range []*netplan.Plan{&first, &second, &third, &fourth} {
		p.Normalize()
	}

	return []netplan.Plan{first, second, third, fourth, {}}
}

// At whatever moment a process is killed, the next one makes the kernel match the plan, with nothing left over.
func TestKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	if ns := os.Getenv("DATAPLANE_TEST_NETNS"); ns != "" {
		p, err := dataplane.New(dataplane.Config{Netns: ns, PinDir: os.Getenv("DATAPLANE_TEST_PINS")})
		for err == nil {
			for _, plan := range busy() {
				if err = p.Apply(context.Background(), plan); err != nil {
					break
				}
			}
		}

		t.Fatal(err)
	}

	u := newUnderlay(t)
	plans := busy()
	for i := range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "DATAPLANE_TEST_NETNS="+u.a.ns, "DATAPLANE_TEST_PINS="+u.a.pins)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		timer := time.NewTimer(time.Duration(40+17*i) * time.Millisecond)
		<-timer.C
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the process ended by itself: %v", err)
		}

		plan := plans[i%len(plans)]
		h := u.a.reopen(t)
		h.apply(t, plan)
		dataplanetest.Expect(t, h, plan)
		if len(plan.Ports) == 0 {
			nothingLeft(t, h)
		}
	}
}
