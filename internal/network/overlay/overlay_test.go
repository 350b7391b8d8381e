package overlay

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
)

var (
	addressA = netip.MustParseAddr("10.213.0.10")
	addressB = netip.MustParseAddr("10.213.0.11")
	podsA    = netip.MustParsePrefix("10.244.1.0/24")
	podsB    = netip.MustParsePrefix("10.244.2.0/24")
	podsFar  = netip.MustParsePrefix("10.244.9.0/24")
)

// testHNS is a Windows host's HNS, which can be down.
type testHNS struct {
	*server.Service
	down bool
}

// Close implements HNS.
func (*testHNS) Close() error { return nil }

func newHNS(t *testing.T, address netip.Addr) *testHNS {
	t.Helper()
	s, err := server.Open(t.Context(), server.Config{
		Model: hns.Config{
			Version:   wire.Version{Major: 15},
			Adapters:  []string{"Ethernet"},
			Addresses: []netip.Addr{address},
		},
		Store:     server.FileStore{Path: filepath.Join(t.TempDir(), "state.json")},
		DataPlane: &dataplane.Fake{},
		Log:       slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}

	return &testHNS{Service: s}
}

// createNetwork makes the network that the agent makes for the pods of a host.
func (h *testHNS) createNetwork(t *testing.T, pods netip.Prefix) {
	t.Helper()
	settings := fmt.Sprintf(`{"Name":"vxlan0","Type":"Overlay","Ipams":[{"Type":"Static","Subnets":[{
		"IpAddressPrefix":%q,"Routes":[{"NextHop":%q,"DestinationPrefix":"0.0.0.0/0"}],
		"Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}]}]}],"SchemaVersion":{"Major":2,"Minor":0}}`,
		pods, pods.Addr().Next())
	if _, err := h.Call(t.Context(), hns.Request{Function: "HcnCreateNetwork", Text: []string{settings}}); err != nil {
		t.Fatal(err)
	}
}

// policies returns the values of the network's policies of a type.
func policies[T any](t *testing.T, h *testHNS, kind string, value func(T) string) []string {
	t.Helper()
	networks, err := hcn.List[wire.Network](t.Context(), h, hcn.Network)
	if err != nil || len(networks) != 1 {
		t.Fatalf("networks %v, %v", networks, err)
	}

	var values []string
	for _, p := range networks[0].Policies {
		if p.Type != kind {
			continue
		}
		var s T
		if err := json.Unmarshal(p.Settings, &s); err != nil {
			t.Fatal(err)
		}
		values = append(values, value(s))
	}

	slices.Sort(values)
	return values
}

func (h *testHNS) routes(t *testing.T) []string {
	t.Helper()
	return policies(t, h, wire.PolicyRemoteSubnetRoute, func(s wire.RemoteSubnetRouteSetting) string {
		return fmt.Sprintf("%s via %s %s", s.DestinationPrefix, s.ProviderAddress, s.DistributedRouterMacAddress)
	})
}

func (h *testHNS) router(t *testing.T) string {
	t.Helper()
	return policies(t, h, wire.PolicyDrMacAddress,
		func(s wire.DrMacAddressSetting) string { return strings.ToUpper(s.Address) })[0]
}

// Two Windows hosts of one machine and one of another get routes to each other's pods as their Nodes appear, change and
// go, and a host that is down keeps the routes that lead to it.
func TestWindowsHosts(t *testing.T) {
	a, b := newHNS(t, addressA), newHNS(t, addressB)
	all := map[string]*testHNS{"a": a, "b": b}
	o := New(Config{
		Windows: []Host{{Name: "a", Address: addressA}, {Name: "b", Address: addressB}},
		Dial: func(_ context.Context, host string) (HNS, error) {
			if all[host].down {
				return nil, fmt.Errorf("dial %s: %w", host, ErrDown)
			}
			return all[host], nil
		},
	})

	set := func(n Node) {
		t.Helper()
		if err := o.Set(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}

	want := func(h *testHNS, routes ...string) {
		t.Helper()
		if diff := cmp.Diff(routes, h.routes(t)); diff != "" {
			t.Errorf("routes, -want +got:\n%s", diff)
		}
	}

	nodeA, nodeB := Node{
		Name:    "a",
		Address: addressA,
		Pods:    podsA,
	}, Node{
		Name:    "b",
		Address: addressB,
		Pods:    podsB,
	}

	far := Node{
		Name:    "far",
		Address: netip.MustParseAddr("10.213.1.10"),
		Pods:    podsFar,
	}

	set(nodeA) // no host has a network yet
	a.createNetwork(t, podsA)
	b.createNetwork(t, podsB)
	set(nodeA)
	want(a)
	set(nodeB)
	toA := "10.244.1.0/24 via 10.213.0.10 " + a.router(t)
	toB := "10.244.2.0/24 via 10.213.0.11 " + b.router(t)
	want(a, toB)
	want(b, toA)

	set(far) // its machine has not published its router
	want(a, toB)
	far.Router = "00:15:5d:01:02:03"
	set(far)
	toFar := "10.244.9.0/24 via 10.213.1.10 00-15-5D-01-02-03"
	want(a, toB, toFar)
	want(b, toA, toFar)
	far.Router = "00:15:5d:01:02:04" // another one
	set(far)
	toFar = "10.244.9.0/24 via 10.213.1.10 00-15-5D-01-02-04"
	want(a, toB, toFar)

	b.down = true
	far.Router = ""
	set(far) // not known any more: the routes to both stay
	want(a, toB, toFar)
	b.down = false
	far.Pods = netip.Prefix{}
	set(far) // gone
	want(a, toB)
	want(b, toA)
	nodeB.Pods = netip.Prefix{}
	set(nodeB)
	want(a)
}

// An error of the connection that does not mean that HNS is down is returned.
func TestDialFails(t *testing.T) {
	o := New(Config{
		Windows: []Host{{Name: "a", Address: addressA}},
		Dial:    func(context.Context, string) (HNS, error) { return nil, context.DeadlineExceeded },
	})
	if err := o.Set(t.Context(), Node{
		Name:    "a",
		Address: addressA,
		Pods:    podsA,
	}); err == nil {
		t.Error("Set returned no error")
	}
}

// Others find a Linux node's router by the address that its interface has, in HNS' spelling.
func TestLinuxEnd(t *testing.T) {
	e := end{
		subnet:  podsB,
		address: addressB,
		router:  linuxRouter(addressB),
	}

	got := e.setting()
	if got.DestinationPrefix != "10.244.2.0/24" || got.ProviderAddress != "10.213.0.11" || got.IsolationId != 4096 ||
		got.DistributedRouterMacAddress != "0A-58-0A-D5-00-0B" {
		t.Errorf("RemoteSubnetRoute %+v", got)
	}
	if got := linuxRouter(addressB).String(); got != "0a:58:0a:d5:00:0b" {
		t.Errorf("the interface's address is %s", got)
	}

	same := got
	same.DistributedRouterMacAddress = "0a-58-0a-d5-00-0b"
	if !sameRoute(got, same) {
		t.Error("a route that differs by the spelling of its address would be replaced")
	}
}

// What is known of a host on another machine is what its Node says. A router that is no unicast Ethernet address is
// not known.
func TestOtherMachines(t *testing.T) {
	told := map[string]string{}
	o := New(Config{
		Linux: []Host{{Name: "here", Address: addressB}},
		Tell:  func(_ context.Context, node, router string) error { told[node] = router; return nil },
	})

	there := Node{
		Name:    "there",
		Address: netip.MustParseAddr("10.213.1.11"),
		Pods:    netip.MustParsePrefix("10.244.1.7/24"),
	}

	for router, known := range map[string]bool{
		"": false, "00:15:5d:01:02:03": true, "01:15:5d:01:02:03": false,
		"x": false, "02:00:5e:10:00:00:00:01": false,
	} {
		there.Router = router
		o.record(there)
		e := o.elsewhere["there"]
		if (e.router != nil) != known || e.subnet.String() != "10.244.1.0/24" || e.address != there.Address {
			t.Errorf("router %q: %+v", router, e)
		}
	}

	o.record(Node{
		Name:    "here",
		Address: addressB,
		Pods:    podsA,
	})

	for range 2 {
		if err := o.tellAll(t.Context(), nil); err != nil || told["here"] != "0a:58:0a:d5:00:0b" {
			t.Errorf("told %v, %v", told, err)
		}
		o.Tell = func(context.Context, string, string) error {
			t.Error("the others are told again what they know")
			return nil
		}
	}

	there.Pods = netip.Prefix{}
	if o.record(there); len(o.elsewhere) != 0 || len(o.subnets) != 1 {
		t.Errorf("of a node that is gone: %v, %v", o.elsewhere, o.subnets)
	}
}
