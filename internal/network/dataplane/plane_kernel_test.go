//go:build kernel

package dataplane_test

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

type host struct {
	*dataplane.Plane
	ns, pins string
}

func newHost(t *testing.T) host {
	t.Helper()
	h := host{ns: netnstest.New(t, "host"), pins: filepath.Join(t.TempDir(), "pods")}
	t.Cleanup(func() {
		entries, _ := os.ReadDir(h.pins)
		for _, e := range entries {
			if err := netns.Remove(filepath.Join(h.pins, e.Name())); err != nil {
				t.Error(err)
			}
		}
	})
	return h.reopen(t)
}

// reopen returns the host with a new Plane, which remembers nothing.
func (h host) reopen(t *testing.T) host {
	t.Helper()
	var err error
	if h.Plane, err = dataplane.New(dataplane.Config{
		Netns:  h.ns,
		PinDir: h.pins,
		Users: dataplane.Users{
			BySID: map[string][]uint32{"S-1-5-93-2-2": {1000}, "S-1-5-32-545": {1001, 1000}},
			Mask:  2047,
		},
	}); err != nil {
		t.Fatal(err)
	}

	return h
}

func (h host) apply(t *testing.T, p netplan.Plan) {
	t.Helper()
	if err := h.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, ns, script string) string {
	t.Helper()
	return command(t, ns, script)
}

// command returns what a script prints on its standard output. Its standard error is shown when it fails: ip warns
// there of namespaces of other tests that end while it reads their names.
func command(tb testing.TB, ns, script string) string {
	tb.Helper()
	var out []byte
	var stderr bytes.Buffer
	err := netns.Do(ns, func() error {
		var err error
		cmd := exec.Command("sh", "-ec", script)
		cmd.Stderr = &stderr
		out, err = cmd.Output()
		return err
	})
	if err != nil {
		tb.Fatalf("%s: %v\n%s%s", script, err, out, &stderr)
	}

	return string(out)
}

func TestPlane(t *testing.T) {
	dataplanetest.Suite(t, func(t *testing.T) dataplanetest.Plane {
		t.Helper()
		return newHost(t)
	})
}

func TestRepairs(t *testing.T) {
	damage := map[string]func(t *testing.T, h host){
		"none":            func(*testing.T, host) {},
		"table-deleted":   func(t *testing.T, h host) { run(t, h.ns, "nft delete table inet hns") },
		"element-deleted": func(t *testing.T, h host) { run(t, h.ns, "nft flush map inet hns vip") },
		"bridge-deleted": func(t *testing.T, h host) {
			run(t, h.ns, "ip link del $(ip -o link | grep -o 'hns[0-9a-f]*' | head -1)")
		},
		"port-deleted": func(t *testing.T, h host) {
			run(t, h.ns, "ip link del $(ip -o link | grep -o 'vp[0-9a-f]*' | head -1)")
		},
		"port-unmarked": func(t *testing.T, h host) {
			run(t, h.ns, "ip link set $(ip -o link | grep -o 'vp[0-9a-f]*' | head -1) alias ''")
		},
		"pod-address-gone": func(t *testing.T,
			h host,
		) {
			run(t, h.Pin(dataplanetest.NSA), "ip addr flush dev eth0")
		},
		"pod-route-gone": func(t *testing.T,
			h host,
		) {
			run(t, h.Pin(dataplanetest.NSA), "ip route del default")
		},
		"pod-address-6-gone": func(t *testing.T,
			h host,
		) {
			run(t, h.Pin(dataplanetest.NSA), "ip -6 addr flush dev eth0 scope global")
		},
		"pod-route-6-gone": func(t *testing.T,
			h host,
		) {
			run(t, h.Pin(dataplanetest.NSA), "ip -6 route del default")
		},
		"pod-subnet-route-gone": func(t *testing.T,
			h host,
		) {
			run(t, h.Pin(dataplanetest.NSA), "ip -6 route del fd00:244:1:1::/64")
		},
		"pod-neighbour-gone": func(t *testing.T, h host) {
			run(t, h.Pin(dataplanetest.NSA),
				"ip -6 neigh flush nud permanent dev eth0; ip -6 neigh del fd00:244:1:1::2 dev eth0 || true")
		},
		"element-6-deleted": func(t *testing.T, h host) { run(t, h.ns, "nft flush map inet hns vip6") },
		"bridge-address-6-gone": func(t *testing.T, h host) {
			run(t, h.ns, "ip -6 addr del fd00:244:1:1::2/64 dev $(ip -o link | grep -o 'hns[0-9a-f]*' | head -1)")
		},
		"pod-link-down": func(t *testing.T, h host) { run(t, h.Pin(dataplanetest.NSA), "ip link set eth0 down") },
		"pod-unpinned": func(t *testing.T, h host) {
			if err := netns.Remove(h.Pin(dataplanetest.NSA)); err != nil {
				t.Fatal(err)
			}
		},
		"pin-left": func(t *testing.T, h host) {
			if _, err := netns.Ensure(h.Pin("LEFT-BEHIND")); err != nil {
				t.Fatal(err)
			}
		},
	}

	for name, harm := range damage {
		for _, how := range []string{"same-process", "new-process"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				h := newHost(t)
				plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
				h.apply(t, plan)
				harm(t, h)
				if found, err := h.Differences(t.Context(), plan); err != nil || (len(found) > 0) != (name != "none") {
					t.Errorf("differences: %q, %v", found, err)
				}

				if how == "new-process" {
					h = h.reopen(t)
				}
				h.apply(t, plan)
				dataplanetest.Expect(t, h, plan)
				flowsBetweenPods(t, h)
				flowsOfIPv6(t, h)
			})
		}
	}
}

// A new plan is carried out even if others have removed objects that it builds on.
func TestApplyAfterDamage(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")
	h.apply(t, plan)
	run(t, h.ns, "nft delete table inet hns")
	next := dataplanetest.Clone(plan)
	next.LoadBalancers = next.LoadBalancers[1:]
	h.apply(t, next)
	dataplanetest.Expect(t, h, next)
	flowsBetweenPods(t, h)
}

func flowsBetweenPods(t *testing.T, h host) {
	t.Helper()
	a, b := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
	netnstest.Serve(t, b, "b", "10.244.1.6:8080")
	netnstest.Serve(t, h.ns, "host", "10.244.1.2:8080")
	netnstest.Flow(t, a, "10.244.1.6:8080", "b", "10.244.1.5")
	netnstest.Flow(t, a, "10.244.1.2:8080", "host", "10.244.1.5")
	netnstest.Flow(t, h.ns, "10.244.1.6:8080", "b", "10.244.1.2")
}

// A pod keeps its interface, and with it its connections, while other things change and over a restart.
func TestPodSurvivesRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	h := newHost(t)
	plan := dataplanetest.Plan("10.244.1")
	h.apply(t, plan)
	before := run(t, h.Pin(dataplanetest.NSA), "ip -o link show eth0; stat -Lc %i /proc/self/ns/net")
	h = h.reopen(t)
	h.apply(t, plan)
	next := dataplanetest.Clone(plan)
	next.Ports, next.Namespaces = next.Ports[:1], next.Namespaces[:1]
	h.apply(t, next)

	if after := run(t, h.Pin(dataplanetest.NSA),
		"ip -o link show eth0; stat -Lc %i /proc/self/ns/net"); after != before {
		t.Errorf("the pod's interface or namespace is another one:\n%s%s", before, after)
	}
}

func TestPodsBindLowPortsAndPing(t *testing.T) {
	h := newHost(t)
	h.apply(t, dataplanetest.Plan("10.244.1"))
	got := run(t, h.Pin(dataplanetest.NSA),
		"cat /proc/sys/net/ipv4/ip_unprivileged_port_start; ping -c1 -W2 10.244.1.6 >&2; ping -c1 -W2 127.0.0.1")
	if !strings.HasPrefix(got, "0\n") {
		t.Errorf("ip_unprivileged_port_start is %q", got)
	}
	if !strings.Contains(got, "ttl=128 ") {
		t.Errorf("what a pod sends may not take 128 hops: %s", got)
	}
}

// two hosts on a wire, with an outside that knows the hosts' addresses only.
func fabric(t *testing.T) (a, b host, outside string) {
	t.Helper()
	a = newHost(t)
	b = newHost(t)
	outside = netnstest.New(t, "outside")
	wire := netnstest.New(t, "wire")
	run(t, wire, "ip link add sw0 type bridge; ip link set sw0 up")

	for i, ns := range []string{a.ns, b.ns, outside} {
		f, err := os.Open(ns)
		if err != nil {
			t.Fatal(err)
		}

		err = netns.Do(wire, func() error {
			cmd := exec.Command("sh", "-ec",
				`ip link add p$0 type veth peer name eth0 netns /proc/$$/fd/3; ip link set p$0 master sw0 up`, string(rune('0'+i)))
			cmd.ExtraFiles = []*os.File{f}
			return cmd.Run()
		})

		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}

	run(
		t, a.ns, "ip addr add 10.213.0.11/24 dev eth0; ip link set eth0 up; ip route add 10.244.2.0/24 via 10.213.0.12; ip route add default via 10.213.0.100")
	run(
		t, b.ns, "ip addr add 10.213.0.12/24 dev eth0; ip link set eth0 up; ip route add 10.244.1.0/24 via 10.213.0.11; ip route add default via 10.213.0.100")
	run(t, outside, "ip addr add 10.213.0.100/24 dev eth0; ip link set eth0 up; ip addr add 198.51.100.1/32 dev lo")
	a.apply(t, dataplanetest.Plan("10.244.1"))
	b.apply(t, dataplanetest.Plan("10.244.2"))

	return a, b, outside
}

func TestFlowsBetweenHosts(t *testing.T) {
	a, b, outside := fabric(t)
	podA, podB := a.Pin(dataplanetest.NSA), b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, podB, "pod-b", "10.244.2.5:80")
	netnstest.Serve(t, b.ns, "host-b", "10.213.0.12:80")
	netnstest.Serve(t, outside, "outside", "198.51.100.1:80")
	netnstest.Serve(t, podA, "pod-a", "10.244.1.5:80")

	netnstest.Flow(t, podA, "10.244.2.5:80", "pod-b", "10.244.1.5")      // an exception: the pod's own address
	netnstest.Flow(t, podA, "10.213.0.12:80", "host-b", "10.213.0.11")   // no exception: the host's
	netnstest.Flow(t, podA, "198.51.100.1:80", "outside", "10.213.0.11") // no exception: the host's
	netnstest.Flow(t, a.ns, "10.244.2.5:80", "pod-b", "10.213.0.11")
	netnstest.Flow(t, a.ns, "10.244.1.5:80", "pod-a", "10.244.1.2")
	netnstest.NoFlow(t, outside, "10.244.1.5:80") // the outside knows no way to pods
}

func TestLoadBalancing(t *testing.T) {
	a, b, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	at := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	plan.LoadBalancers = nil
	for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
		id := map[netplan.Protocol]string{netplan.TCP: "tcp", netplan.UDP: "udp"}[proto]
		vip := func(s string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(s)} }

		plan.LoadBalancers = append(plan.LoadBalancers,
			netplan.LoadBalancer{
				ID:       id + "-local",
				VIPs:     vip("10.96.0.1"),
				Protocol: proto,
				Port:     80,
				Backends: []netip.AddrPort{at("10.244.1.6:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-remote",
				VIPs:     vip("10.96.0.2"),
				Protocol: proto,
				Port:     80,
				Backends: []netip.AddrPort{at("10.244.2.5:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-self",
				VIPs:     vip("10.96.0.3"),
				Protocol: proto,
				Port:     80,
				Backends: []netip.AddrPort{at("10.244.1.5:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-outside",
				VIPs:     vip("10.96.0.4"),
				Protocol: proto,
				Port:     443,
				Backends: []netip.AddrPort{at("198.51.100.1:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-many",
				VIPs:     vip("10.96.0.5"),
				Protocol: proto,
				Port:     80,
				Backends: []netip.AddrPort{at("10.244.1.6:8080"), at("10.244.2.5:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-sticky",
				VIPs:     vip("10.96.0.6"),
				Protocol: proto,
				Port:     80,
				ByClient: true,
				Backends: []netip.AddrPort{at("10.244.1.6:8080"), at("10.244.2.5:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-node",
				Protocol: proto,
				Port:     30080,
				Backends: []netip.AddrPort{at("10.244.1.6:8080")},
			},
			netplan.LoadBalancer{
				ID:       id + "-node-remote",
				Protocol: proto,
				Port:     30081,
				Backends: []netip.AddrPort{at("10.244.2.5:8080")},
			},
		)
	}

	plan.Normalize()
	a.apply(t, plan)
	podA := a.Pin(dataplanetest.NSA)
	netnstest.Serve(t, podA, "a", "10.244.1.5:8080")
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "b", "10.244.1.6:8080")
	netnstest.Serve(t, b.Pin(dataplanetest.NSA), "far", "10.244.2.5:8080")
	netnstest.Serve(t, outside, "api", "198.51.100.1:8080")

	netnstest.Flow(t, podA, "10.96.0.1:80", "b", "10.244.1.5")
	netnstest.Flow(t, podA, "10.96.0.2:80", "far", "10.244.1.5")
	netnstest.Flow(t, podA, "10.96.0.3:80", "a", "10.244.1.2")
	netnstest.Flow(t, podA, "10.96.0.4:443", "api", "10.213.0.11")
	netnstest.Flow(t, outside, "10.213.0.11:30080", "b", "10.213.0.100")
	netnstest.Flow(t, outside, "10.213.0.11:30081", "far", "10.213.0.11")
	netnstest.NoFlow(t, a.ns, "10.96.0.1:80")      // a host does not reach service addresses
	netnstest.NoFlow(t, a.ns, "10.213.0.11:30080") // nor its own node port

	spread, sticky := map[string]int{}, map[string]int{}
	for range 40 {
		for vip, seen := range map[string]map[string]int{"10.96.0.5:80": spread, "10.96.0.6:80": sticky} {
			name, _, err := netnstest.Ask(podA, "tcp4", vip, 3*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			seen[name]++
		}
	}

	if len(spread) != 2 || len(sticky) != 1 {
		t.Errorf("40 connections went to %v, with affinity to %v", spread, sticky)
	}
}
