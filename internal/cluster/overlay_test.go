package cluster

import (
	"context"
	"net/netip"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

// Others find a Linux node's router by the address that its interface has, in HNS' spelling.
func TestOverlayEndOfLinuxNode(t *testing.T) {
	at := netip.MustParseAddr("10.213.0.11")
	end := overlayEnd{subnet: netip.MustParsePrefix("10.244.3.0/24"), address: at, router: linuxRouter(at)}
	got := end.setting()
	if got.DestinationPrefix != "10.244.3.0/24" || got.ProviderAddress != "10.213.0.11" || got.IsolationId != 4096 ||
		got.DistributedRouterMacAddress != "0A-58-0A-D5-00-0B" {
		t.Errorf("RemoteSubnetRoute %+v", got)
	}
	if got := linuxRouter(at).String(); got != "0a:58:0a:d5:00:0b" {
		t.Errorf("the interface's address is %s", got)
	}
	same := got
	same.DistributedRouterMacAddress = "0a-58-0a-d5-00-0b"
	if !sameRoute(got, same) {
		t.Error("a route that differs by the spelling of its address would be replaced")
	}
}

// Of a host on another machine it is known what its Node says; what cannot be a router's address is not taken for one.
func TestOverlayOfSeveralMachines(t *testing.T) {
	told := map[string]string{}
	o := &overlay{
		plan: Plan{
			Spec:       spec.Cluster{Nodes: []spec.Node{{Name: "here"}}},
			LinuxHosts: []LinuxHost{{Node: spec.Node{Name: "here"}, Address: netip.MustParseAddr("10.213.0.11")}},
		},
		cidrs:     map[string]netip.Prefix{},
		told:      map[string]string{},
		elsewhere: map[string]overlayEnd{},
		tell:      func(_ context.Context, node, router string) error { told[node] = router; return nil },
	}
	there := podRange{
		node:  "there",
		via:   netip.MustParseAddr("10.213.1.11"),
		cidrs: []netip.Prefix{netip.MustParsePrefix("10.244.1.7/24")},
	}
	for router, known := range map[string]bool{
		"": false, "00:15:5d:01:02:03": true, "01:15:5d:01:02:03": false,
		"x": false, "02:00:5e:10:00:00:00:01": false,
	} {
		there.router = router
		o.take(there)
		end := o.elsewhere["there"]
		if (end.router != nil) != known || end.subnet.String() != "10.244.1.0/24" || end.address != there.via {
			t.Errorf("router %q: %+v", router, end)
		}
	}
	o.take(podRange{
		node:  "here",
		via:   netip.MustParseAddr("10.213.0.11"),
		cidrs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")},
	})
	for range 2 {
		if err := o.tellAll(t.Context(), nil); err != nil || told["here"] != "0a:58:0a:d5:00:0b" {
			t.Errorf("told %v, %v", told, err)
		}
		o.tell = func(context.Context, string, string) error {
			t.Error("the others are told again what they know")
			return nil
		}
	}
	there.cidrs = nil
	if o.take(there); len(o.elsewhere) != 0 || len(o.cidrs) != 1 {
		t.Errorf("of a node that is no more: %v, %v", o.elsewhere, o.cidrs)
	}
}
