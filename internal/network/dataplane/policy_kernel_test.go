//go:build kernel

package dataplane_test

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

func prefixes(list ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range list {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// accessHost returns a host with pods at 10.244.1.5 and .6 that all serve, a load balancer 10.96.0.1:80 to .6 among
// them.
func accessHost(t *testing.T, mode netplan.Mode) (h host, plan netplan.Plan,
	reach func(from, to string, timeout time.Duration) bool,
) {
	t.Helper()
	h = newHost(t)
	plan = network(mode, "10.244.1")
	if mode == netplan.Transparent {
		run(
			t, h.ns, "ip link add eth0 type dummy || ip link add eth0 type bridge; ip link set eth0 up; ip addr add 10.244.1.1/24 dev eth0")
		plan.Bridges[0].Gateways = nil
	}

	plan.LoadBalancers = both("x", "10.96.0.1", 80, nil, "10.244.1.6:80")
	plan.Normalize()
	h.apply(t, plan)
	at := map[string]string{"5": h.Pin(dataplanetest.NSA), "6": h.Pin(dataplanetest.NSB), "host": h.ns}
	netnstest.Serve(t, at["5"], "5", "10.244.1.5:80")
	netnstest.Serve(t, at["6"], "6", "10.244.1.6:80")
	netnstest.Serve(t, at["6"], "6", "10.244.1.6:81")
	netnstest.Serve(t, at["host"], "host", "10.244.1.1:80")

	return h, plan, func(from, to string, timeout time.Duration) bool {
		t.Helper()
		answered := 0
		for _, network := range []string{"tcp4", "udp4"} {
			if _, _, err := netnstest.Ask(at[from], network, to, timeout); err == nil {
				answered++
			}
		}

		if answered == 1 {
			t.Errorf("only one of TCP and UDP from %s to %s", from, to)
		}
		return answered == 2
	}
}

func TestAccessRules(t *testing.T) {
	const to6, to6at81, to5, toHost, toVIP = "10.244.1.6:80", "10.244.1.6:81", "10.244.1.5:80", "10.244.1.1:80",
		"10.96.0.1:80"
	block := func(a netplan.ACL) netplan.ACL { a.Block = true; return a }

	cases := map[string]struct {
		acl  []netplan.ACL // of pod .6
		want map[[2]string]bool
	}{
		"nothing-in": {
			[]netplan.ACL{block(netplan.ACL{Priority: 100, In: true})},
			map[[2]string]bool{
				{"5", to6}: false, {"host", to6}: false, {"5", toVIP}: false, {"6", to5}: true,
				{"6", toHost}: true,
			},
		},
		"nothing-out": {
			[]netplan.ACL{block(netplan.ACL{Priority: 100})},
			map[[2]string]bool{
				{"5", to6}: true, {"host", to6}: true, {"5", toVIP}: true, {"6", to5}: false,
				{"6", toHost}: false,
			},
		},
		"lowest-priority-decides": {
			[]netplan.ACL{
				block(netplan.ACL{Priority: 200, In: true}),
				{Priority: 100, In: true, Remote: prefixes("10.244.1.5/32", "10.244.1.4/31")},
			},
			map[[2]string]bool{{"5", to6}: true, {"host", to6}: false, {"5", toVIP}: true},
		},
		"ports": {
			[]netplan.ACL{
				block(netplan.ACL{Priority: 200, In: true}),
				{
					Priority:   100,
					In:         true,
					LocalPorts: []netplan.PortRange{{First: 80, Last: 80}, {First: 70, Last: 79}},
				},
			},
			map[[2]string]bool{{"5", to6}: true, {"5", to6at81}: false, {"host", to6}: true, {"host", to6at81}: false},
		},
		"remote-ports-and-addresses": {
			[]netplan.ACL{block(netplan.ACL{
				Priority:    10,
				Remote:      prefixes("10.244.1.5/32"),
				RemotePorts: []netplan.PortRange{{First: 80, Last: 90}},
				Local:       prefixes("10.244.1.6/32"),
			})},
			map[[2]string]bool{{"6", to5}: false, {"6", toHost}: true, {"5", to6}: true},
		},
		"tiers": {
			[]netplan.ACL{
				{
					Tier:       1,
					Priority:   10,
					In:         true,
					Remote:     prefixes("10.244.1.5/32"),
					LocalPorts: []netplan.PortRange{{First: 80, Last: 80}},
				},
				{Tier: 1, Priority: 20, In: true, Remote: prefixes("10.244.1.5/32"), Pass: true},
				block(netplan.ACL{
					Tier:     1,
					Priority: 30,
					In:       true,
				}),
				block(netplan.ACL{
					Tier:     2,
					Priority: 1,
					In:       true,
				}),
			},
			map[[2]string]bool{{"5", to6}: true, {"5", to6at81}: false, {"host", to6}: false},
		},
		"pass-to-the-next-tier": {
			[]netplan.ACL{
				{Tier: 1, Priority: 20, In: true, Remote: prefixes("10.244.1.5/32"), Pass: true},
				block(netplan.ACL{
					Tier:     1,
					Priority: 30,
					In:       true,
				}),
				{Tier: 2, Priority: 1, In: true, LocalPorts: []netplan.PortRange{{First: 81, Last: 81}}},
				block(netplan.ACL{
					Tier:     2,
					Priority: 2,
					In:       true,
				}),
			},
			map[[2]string]bool{{"5", to6}: false, {"5", to6at81}: true, {"host", to6at81}: false},
		},
		"host-rules-let-nothing-pass-that-the-switch-blocks": { // as Calico's Felix makes them
			[]netplan.ACL{
				{Priority: 1000, In: true, Remote: prefixes("10.244.1.5/32")},
				block(netplan.ACL{Priority: 1001, In: true}),
				{Host: true, In: true},
			},
			map[[2]string]bool{{"5", to6}: true, {"host", to6}: false},
		},
		"host-rules-block": {
			[]netplan.ACL{
				{Priority: 1, In: true},
				block(netplan.ACL{
					Host:       true,
					Priority:   100,
					In:         true,
					LocalPorts: []netplan.PortRange{{First: 81, Last: 81}},
				}),
			},
			map[[2]string]bool{{"5", to6}: true, {"5", to6at81}: false},
		},
		"not-this-pod": {
			[]netplan.ACL{block(netplan.ACL{
				Priority: 10,
				In:       true,
				Local:    prefixes("10.244.1.7/32"),
			})},
			map[[2]string]bool{{"5", to6}: true},
		},
	}

	for _, mode := range []netplan.Mode{netplan.WinNAT, netplan.Transparent} {
		h, plan, reach := accessHost(t, mode)
		for name, c := range cases {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				port := plan.Ports[1]
				port.ACL = c.acl
				h.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
				for way, want := range c.want {
					if mode == netplan.Transparent && way[1] == toVIP {
						continue // no load balancers there
					}
					timeout := 3 * time.Second
					if !want {
						timeout = 300 * time.Millisecond
					}

					if got := reach(way[0], way[1], timeout); got != want {
						t.Errorf("from %s to %s: %v, want %v", way[0], way[1], got, want)
					}
				}
			})
		}

		port := plan.Ports[1]
		port.ACL = nil
		h.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
		if !reach("5", to6, 3*time.Second) || !reach("6", to5, 3*time.Second) {
			t.Error("rules hold after they are gone")
		}
	}
}

// The pod sends as much as it can; no more than its limit passes.
func TestEgressLimit(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.Ports[0].EgressBPS = 8_000_000
	h.apply(t, plan)
	const size = 2_000_000

	took := func(from, to, addr string) time.Duration {
		t.Helper()
		var l net.Listener
		var c net.Conn
		if err := netns.Do(to, func() (err error) { l, err = net.Listen("tcp4", addr); return err }); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()

		if err := netns.Do(from, func() (err error) {
			c,
				err = net.DialTimeout("tcp4", addr, 3*time.Second)
			return err
		}); err != nil {
			t.Fatal(err)
		}

		start := time.Now()
		go func() { _, _ = c.Write(make([]byte, size)); _ = c.Close() }()
		far, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}

		_ = far.SetDeadline(start.Add(time.Minute))
		if n, err := io.Copy(io.Discard, far); err != nil || n != size {
			t.Fatalf("%d bytes, %v", n, err)
		}

		return time.Since(start)
	}

	a, b := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
	if d := took(a, b, "10.244.1.6:90"); d < 1500*time.Millisecond {
		t.Errorf("%d bytes at 8 Mbit/s took %v", size, d)
	}
	if d := took(b, a, "10.244.1.5:90"); d > 1500*time.Millisecond {
		t.Errorf("what the pod receives took %v", d)
	}

	port := plan.Ports[0]
	port.EgressBPS = 0
	h.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
	if d := took(a, b, "10.244.1.6:90"); d > 1500*time.Millisecond {
		t.Errorf("without the limit it took %v", d)
	}
}

// proxyUser is the Linux user for S-1-5-93-2-2 on the hosts of these tests, 1000 in a pod's range; proxyGroup, a group,
// stands for that user and 1001. S-1-5-93-2-1 has no Linux user there.
const proxyUser, proxyGroup = "1912749032", "S-1-5-32-545"

func TestProxies(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")

	plan.Ports[0].Proxies = []netplan.Proxy{
		{
			Protocol:   netplan.TCP,
			Port:       15001,
			Ports:      []netplan.PortRange{{First: 80, Last: 89}},
			Except:     prefixes("10.244.1.2/32"),
			ExceptUser: "S-1-5-93-2-2",
		},
		{
			Protocol:   netplan.TCP,
			Port:       15006,
			In:         true,
			ExceptUser: "S-1-5-93-2-1",
			Remote:     prefixes("10.244.1.6/32"),
			Ports:      []netplan.PortRange{{First: 80, Last: 80}},
		},
	}

	h.apply(t, plan)
	a, b := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
	netnstest.Serve(t, a, "proxy-out", "0.0.0.0:15001")
	netnstest.Serve(t, a, "proxy-in", "0.0.0.0:15006")
	netnstest.Serve(t, a, "a", "10.244.1.5:80")
	netnstest.Serve(t, b, "b", "10.244.1.6:80")
	netnstest.Serve(t, b, "b", "10.244.1.6:90")
	netnstest.Serve(t, h.ns, "host", "10.244.1.2:80")

	ask := func(ns, network, to, want string) {
		t.Helper()
		if name, _, err := netnstest.Ask(ns, network, to, 3*time.Second); err != nil || name != want {
			t.Errorf("%s to %s is answered by %q, %v; want %s", network, to, name, err, want)
		}
	}

	ask(a, "tcp4", "10.244.1.6:80", "proxy-out")
	ask(a, "udp4", "10.244.1.6:80", "b")
	ask(a, "tcp4", "10.244.1.6:90", "b")
	ask(a, "tcp4", "10.244.1.2:80", "host")
	ask(b, "tcp4", "10.244.1.5:80", "proxy-in")
	ask(h.ns, "tcp4", "10.244.1.5:80", "a")

	answeredAs := func(user, want string) {
		t.Helper()
		got := run(
			t, a, "setpriv --reuid "+user+" --clear-groups bash -c 'read -r name rest </dev/tcp/10.244.1.6/80; echo $name'")
		if strings.TrimSpace(got) != want {
			t.Errorf("user %s is answered by %q, want %s", user, got, want)
		}
	}

	answeredAs(proxyUser, "b") // the proxy's own connections are let through
	answeredAs("1001", "proxy-out")
	group := plan.Ports[0]
	group.Proxies = slices.Clone(group.Proxies)
	group.Proxies[0].ExceptUser = proxyGroup
	h.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{group}}})
	answeredAs(proxyUser, "b")
	answeredAs("1001", "b")
	answeredAs("1002", "proxy-out")
	run(t, a, "nft flush ruleset")
	if found, err := h.Differences(t.Context(), plan); err != nil || len(found) == 0 {
		t.Errorf("differences without the pod's rules: %q, %v", found, err)
	}

	h.apply(t, plan)
	dataplanetest.Expect(t, h, plan)
	ask(a, "tcp4", "10.244.1.6:80", "proxy-out")
	port := plan.Ports[0]
	port.Proxies = nil
	h.change(t, &plan, netplan.Change{Set: netplan.Plan{Ports: []netplan.Port{port}}})
	ask(a, "tcp4", "10.244.1.6:80", "b")
	ask(b, "tcp4", "10.244.1.5:80", "a")
	if got := run(t, a, "nft list tables"); got != "" {
		t.Errorf("left behind in the pod: %s", got)
	}
}

func TestEncapOverhead(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.Ports[0].EncapOverhead = 100
	h.apply(t, plan)
	for ns, want := range map[string]string{dataplanetest.NSA: " mtu 1400 ", dataplanetest.NSB: " mtu 1500 "} {
		if got := run(t, h.Pin(ns), "ip -o link show eth0"); !strings.Contains(got, want) {
			t.Errorf("want%sof %s", want, got)
		}
	}
}
