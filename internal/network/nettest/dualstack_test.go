package nettest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mullion.dev/mullion/internal/spec"
)

// testBed returns a bed of two Windows nodes and a Linux one; six are the nodes' IPv6 addresses and the outside's, none
// where they end.
func testBed(t *testing.T, dual bool, nodes6 ...string) *bed {
	t.Helper()
	cfg := Config{
		Mode:    spec.ModeL2Bridge,
		Domain:  "cluster.local",
		Outside: Outside{Address: netip.MustParseAddr("10.213.0.250")},
	}
	if dual {
		cfg.Outside.Address6 = netip.MustParseAddr("fd00:213::fa")
	}

	for i, os := range []string{spec.Windows, spec.Windows, spec.Linux} {
		n := Node{
			Name:    []string{"win-1", "win-2", "linux-1"}[i],
			OS:      os,
			Address: netip.MustParseAddr("10.213.0.1" + string(rune('1'+i))),
		}
		if i < len(nodes6) {
			n.Address6 = netip.MustParseAddr(nodes6[i])
		}
		cfg.Nodes = append(cfg.Nodes, n)
	}

	b, err := newBed(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every flow is carried out over IPv6 except those marked fourAlone, and is expected to fail where it is expected to
// over IPv4.
func TestFlows6(t *testing.T) {
	want := map[string]expectation{}
	for _, f := range Flows(spec.ModeL2Bridge, spec.ProfileFaithful) {
		if f.six {
			t.Errorf("%q is over IPv6", f.Name)
		}
		want[f.Name] = f.want
	}

	fails := 0
	for _, f := range Flows6(spec.ModeL2Bridge, spec.ProfileFaithful) {
		name, marked := strings.CutSuffix(f.Name, ", IPv6")
		if !marked || !f.six {
			t.Errorf("%q is no flow over IPv6", f.Name)
		}
		four, known := want[name]
		if known && (four.none != f.want.none || !slices.Equal(four.servers, f.want.servers)) {
			t.Errorf("%q: %s, and over IPv4 %s", f.Name, f.want, four)
		}

		delete(want, name)
		if f.want.none {
			fails++
		}
	}

	if fails < 6 {
		t.Errorf("%d flows must fail", fails)
	}
	for name := range want {
		if name != "pod → kubernetes.default" && name != "pod → name that the outside does not know" {
			t.Errorf("%q is not carried out over IPv6", name)
		}
	}
}

// Each flow over IPv6 goes to an address of IPv6, or to a name that has no other.
func TestTargets6(t *testing.T) {
	b := testBed(t, true, "fd00:213::b", "fd00:213::c", "fd00:213::d")
	b.namespace = Namespace
	for _, pod := range []string{podOneA, podOneB, podTwoA, podLinux} {
		b.pods[pod] = podAt{ip: "10.244.1.5", ip6: "fd00:244::5"}
	}

	for _, s := range b.serviceSpecs() {
		at := serviceAt{
			ip:          "10.96.0.1",
			nodePorts:   map[Protocol]int32{TCP: 30001, UDP: 30002},
			ingress:     "10.213.0.240",
			healthCheck: 30003,
		}
		if slices.Equal(s.Spec.IPFamilies, []corev1.IPFamily{corev1.IPv6Protocol}) {
			at.ip, at.ingress = "fd00:96::1", "fd00:213::e0"
		}

		b.services[s.Name] = at
	}

	for six, flows := range map[bool][]Flow{
		false: Flows(spec.ModeL2Bridge, spec.ProfileFaithful),
		true:  Flows6(spec.ModeL2Bridge, spec.ProfileFaithful),
	} {
		view := b
		if six {
			view = b.over6()
		}

		for _, f := range flows {
			for _, p := range f.Protocols {
				host, port := f.to(view, p)
				addr, err := netip.ParseAddr(host)
				switch {
				case host == "" || (p != ICMP && port == 0):
					t.Errorf("%q, %s: no target: %q, %d", f.Name, p, host, port)
				case err == nil && addr.Is6() != six:
					t.Errorf("%q, %s goes to %s", f.Name, p, addr)
				case err != nil && six != (strings.Contains(host, suffix6) || host == farName6):
					t.Errorf("%q, %s goes to %s", f.Name, p, host)
				}
			}

			client := view.addresses(f.from)
			for word, address := range client {
				if addr, err := netip.ParseAddr(address); err != nil || addr.Is6() != six {
					t.Errorf("%q: %s is %q", f.Name, word, address)
				}
			}
		}
	}
}

// A single-stack cluster has the IPv4 Services only, a dual-stack cluster has IPv6 Services beside them.
func TestServicesOfFamilies(t *testing.T) {
	names := func(b *bed) (all []string) {
		for _, s := range b.serviceSpecs() {
			for _, source := range s.Spec.LoadBalancerSourceRanges {
				if netip.MustParsePrefix(source).Addr().Is6() != strings.HasSuffix(s.Name, suffix6) {
					t.Errorf("%s is for callers in %s", s.Name, source)
				}
			}
			all = append(all, s.Name)
		}

		slices.Sort(all)
		return all
	}

	four := names(testBed(t, false))
	if slices.ContainsFunc(four, func(n string) bool { return strings.HasSuffix(n, suffix6) }) {
		t.Errorf("a cluster of one family has %q", four)
	}

	both := names(testBed(t, true, "fd00:213::b", "fd00:213::c", "fd00:213::d"))
	for _, name := range four {
		if !slices.Contains(both, name) {
			t.Errorf("a cluster of both families is without %s", name)
		}
	}

	if len(both) != 2*len(four) {
		t.Errorf("a cluster of both families has %q", both)
	}
}

// A flow over IPv6 that needs a node which has IPv4 only is left out, with the reason.
func TestLacks6(t *testing.T) {
	two, one := Flow{six: true, needs: need{twoNodes: true}}, Flow{six: true}
	b := testBed(t, true, "fd00:213::b")
	if why := b.lacks6(one); why != "" {
		t.Errorf("without need of the second node: %s", why)
	}
	if why := b.lacks6(two); !strings.Contains(why, "node win-2 has IPv4 only") {
		t.Errorf("with need of the second node: %q", why)
	}
}

func TestPinged(t *testing.T) {
	answered := []string{
		"Reply from 10.244.1.5: bytes=32 time<1ms TTL=64\r\n",
		"\r\nPinging fd00::5 with 32 bytes of data:\r\nReply from fd00::5: time=3ms\n",
	}
	unanswered := []string{
		"Reply from fd00::2: Destination host unreachable.\r\n",
		"Request timed out.\r\n",
		"\nPing statistics for ::1:\n    Packets: Sent = 1, Received = 0, Lost = 1 (100% loss),\n",
	}

	for _, out := range append(unanswered, answered...) {
		if want := slices.Contains(answered, out); pinged(out) != want {
			t.Errorf("pinged(%q) = %v", out, !want)
		}
	}
}
