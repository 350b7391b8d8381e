package hns_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

func config() hns.Config {
	n := 0
	return hns.Config{
		Version:  wire.Version{Major: 15, Minor: 5},
		Adapters: []string{"Ethernet"},
		NewID:    func() string { n++; return fmt.Sprintf("00000000-0000-0000-0000-%012x", n) },
	}
}

// host is a model with a network 10.244.1.0/24 (gateway .1).
type host struct {
	*hns.Model
	network string
}

func newHost(t *testing.T) host {
	t.Helper()
	h := host{Model: hns.New(config())}
	h.network = h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1")).Object
	return h
}

func network(name, subnet, gateway string) string {
	return fmt.Sprintf(`{"Name":%q,"Type":"L2Bridge","Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":%q,
		"Routes":[{"NextHop":%q,"DestinationPrefix":"0.0.0.0/0"}]}]}],"SchemaVersion":{"Major":2,"Minor":0}}`, name, subnet, gateway)
}

func (h host) ok(t *testing.T, function, object string, text ...string) hns.Reply {
	t.Helper()
	r, err := h.Call(hns.Request{
		Function: function,
		Object:   object,
		Text:     text,
	})
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	h.Commit()
	return r
}

func (h host) fails(t *testing.T, want wire.HRESULT, function, object string, text ...string) {
	t.Helper()
	before, _ := h.Save()
	_, err := h.Call(hns.Request{
		Function: function,
		Object:   object,
		Text:     text,
	})
	if !errors.Is(err, &wire.Error{Code: want}) {
		t.Errorf("%s: %v, want 0x%08x", function, err, uint32(want))
	}

	if after, _ := h.Save(); string(before) != string(after) || h.Changed() {
		t.Errorf("%s failed and changed the state:\n%s", function, cmp.Diff(string(before), string(after)))
	}
}

func (h host) endpoint(t *testing.T, addr string) string {
	t.Helper()
	return h.ok(t, "HcnCreateEndpoint", h.network, fmt.Sprintf(`{"Name":"ep-%s","IpConfigurations":[{"IpAddress":%q}],
		"Routes":[{"NextHop":"10.244.1.2","DestinationPrefix":"0.0.0.0/0"}],
		"Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.244.0.0/16","10.96.0.1"]}}]}`, addr, addr)).Object
}

func (h host) namespace(t *testing.T) string {
	t.Helper()
	return h.ok(t, "HcnCreateNamespace", "", `{"Type":"Host"}`).Object
}

func attach(endpoint string) string {
	return fmt.Sprintf(`{"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":%q}}`, endpoint)
}

func TestPodPlan(t *testing.T) {
	h := newHost(t)
	hostEP := h.endpoint(t, "10.244.1.2")
	podEP := h.endpoint(t, "10.244.1.5")
	ns := h.namespace(t)
	h.ok(t, "HNSCall", "", "POST", "/endpoints/"+hostEP+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	if got := dataplane.Dump(h.Plan()); strings.Contains(got, "port") {
		t.Errorf("an endpoint that is not attached has a port:\n%s", got)
	}

	h.ok(t, "HcnModifyNamespace", ns, attach(podEP))
	want := "bridge " + h.network + " L2Bridge [10.244.1.2/24]"
	if got := dataplane.Dump(h.Plan()); !strings.HasPrefix(got, want) {
		t.Errorf("plan:\n%swant it to begin with %q", got, want)
	}

	want = " [10.244.1.5/24] 0.0.0.0/0->10.244.1.2 nat(except [10.244.0.0/16 10.96.0.1/32] only [])\n"
	if got := dataplane.Dump(h.Plan()); !strings.Contains(got, "port "+podEP+" "+ns+"/eth0 on "+h.network) ||
		!strings.Contains(got, want) {
		t.Errorf("plan:\n%swant a port with %q", got, want)
	}
	h.ok(t, "HcnDeleteNamespace", ns)
	if got := h.Plan(); len(got.Ports)+len(got.Namespaces) > 0 {
		t.Errorf("plan after the namespace is deleted:\n%s", dataplane.Dump(got))
	}

	h.ok(t, "HcnOpenEndpoint", podEP) // detached, not deleted
	if _, err := h.Call(hns.Request{
		Function: "HNSCall",
		Text:     []string{"POST", "/endpoints/" + hostEP + "/detach", `{"SystemType":"Host"}`},
	}); err != nil {
		t.Fatal(err)
	}

	if c := h.Change(); len(c.Set.Bridges) != 1 || len(c.Set.Bridges[0].Addrs) != 0 {
		t.Errorf("change when the host leaves the switch: %+v", c)
	}
	h.Commit()
	const mac = `{"MacAddress":"00-15-5D-01-02-03"}`
	h.ok(t, "HcnDeleteEndpoint", h.ok(t, "HcnCreateEndpoint", h.network, mac).Object)
	h.ok(t, "HcnCreateEndpoint", h.network, mac) // the address is free again
}

func TestLoadBalancerPlan(t *testing.T) {
	h := newHost(t)
	local := h.endpoint(t, "10.244.1.5")
	remote := h.ok(t, "HcnCreateEndpoint", h.network,
		`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.213.0.1"}]}`).Object
	lb := h.ok(t, "HcnCreateLoadBalancer", "", fmt.Sprintf(`{"HostComputeEndpoints":[%q,%q],"FrontendVIPs":["10.96.0.1"],
		"PortMappings":[{"Protocol":6,"InternalPort":6443,"ExternalPort":443,"DistributionType":2,"Flags":1}]}`, local, remote)).Object
	want := "lb " + lb + " [10.96.0.1] proto 6 port 443 -> [10.244.1.5:6443 10.213.0.1:6443] byclient=true\n"
	if got := dataplane.Dump(h.Plan()); !strings.Contains(got, want) {
		t.Errorf("plan:\n%swant %s", got, want)
	}

	again := fmt.Sprintf(
		`{"HostComputeEndpoints":[%q],"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":443}]}`, local)
	h.fails(t, wire.PortAlreadyExists, "HcnCreateLoadBalancer", "", again)
	h.ok(t, "HcnModifyLoadBalancer", lb, `{"RequestType":"Update","Settings":`+again+`}`)
	h.ok(t, "HcnDeleteEndpoint", local)
	if got := h.Plan().LoadBalancers; len(got) != 1 || len(got[0].Backends) != 0 {
		t.Errorf("a deleted endpoint is still a backend: %+v", got)
	}

	h.ok(t, "HcnDeleteLoadBalancer", lb)
	if got := h.Plan().LoadBalancers; len(got) != 0 {
		t.Errorf("plan has %+v", got)
	}
}

func TestErrors(t *testing.T) {
	h := newHost(t)
	ep := h.endpoint(t, "10.244.1.5")
	other := h.endpoint(t, "10.244.1.6")
	ns := h.namespace(t)
	remote := h.ok(t, "HcnCreateEndpoint", h.network,
		`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.9.9.9"}]}`).Object
	h.ok(t, "HcnModifyNamespace", ns, attach(ep))
	missing := "11111111-2222-3333-4444-555555555555"
	addr := func(a string) string { return fmt.Sprintf(`{"IpConfigurations":[{"IpAddress":%q}]}`, a) }
	policy := func(p string) string { return `{"Policies":[` + p + `]}` }

	tests := []struct {
		name             string
		want             wire.HRESULT
		function, object string
		text             string
	}{
		{"unknown-function", wire.ENotImpl, "HcnFly", "", ""},
		{"no-guid", wire.EInvalidArg, "HcnOpenNetwork", "cbr0", ""},
		{"open-missing", wire.ENotFound, "HcnOpenEndpoint", missing, ""},
		{"delete-missing", wire.ENotFound, "HcnDeleteNetwork", missing, ""},
		{"json-cut", wire.InvalidJSON, "HcnCreateNetwork", "", `{"Name":`},
		{"json-twice", wire.InvalidJSON, "HcnCreateNamespace", "", `{}{}`},
		{"json-wrong-type", wire.InvalidJSON, "HcnCreateNetwork", "", `{"Name":[1]}`},
		{"json-deep", wire.InvalidJSON, "HcnCreateNetwork", "", strings.Repeat("[", 1<<20)},
		{"network-type", wire.InvalidNetworkType, "HcnCreateNetwork", "", `{"Name":"n","Type":"Private"}`},
		{"network-name", wire.NetworkAlreadyExists, "HcnCreateNetwork", "", network("cbr0", "10.9.0.0/24", "10.9.0.1")},
		{"network-overlap", wire.InvalidNetwork, "HcnCreateNetwork", "", network("n", "10.244.0.0/16", "10.244.0.1")},
		{"network-gateway", wire.InvalidNetwork, "HcnCreateNetwork", "", network("n", "10.9.0.0/24", "10.8.0.1")},
		{
			"network-adapter", wire.AdapterNotFound, "HcnCreateNetwork", "",
			`{"Name":"n","Type":"L2Bridge","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"eth7"}}]}`,
		},
		{"network-in-use", wire.EntityHasReferences, "HcnDeleteNetwork", h.network, ""},
		{"endpoint-no-network", wire.NetworkNotFound, "HcnCreateEndpoint", missing, addr("10.244.1.9")},
		{"endpoint-outside", wire.InvalidIP, "HcnCreateEndpoint", h.network, addr("10.245.1.9")},
		{"endpoint-no-address", wire.InvalidIP, "HcnCreateEndpoint", h.network, addr("ten")},
		{
			"endpoint-one-without-address", wire.InvalidIP, "HcnCreateEndpoint", h.network,
			`{"IpConfigurations":[{"IpAddress":"10.244.1.9"},{"IpAddress":""}]}`,
		},
		{"endpoint-gateway", wire.AddrInvalidOrReserved, "HcnCreateEndpoint", h.network, addr("10.244.1.1")},
		{"endpoint-broadcast", wire.AddrInvalidOrReserved, "HcnCreateEndpoint", h.network, addr("10.244.1.255")},
		{"endpoint-duplicate", wire.AddrInvalidOrReserved, "HcnCreateEndpoint", h.network, addr("10.244.1.5")},
		{"endpoint-mac", wire.InvalidEndpoint, "HcnCreateEndpoint", h.network, `{"MacAddress":"ff-ff-ff-ff-ff-ff"}`},
		{"endpoint-policy-type", wire.InvalidPolicyType, "HcnCreateEndpoint", h.network, policy(`{"Type":"Teleport"}`)},
		{
			"endpoint-policy", wire.InvalidPolicy, "HcnCreateEndpoint", h.network,
			policy(`{"Type":"OutBoundNAT","Settings":{"Exceptions":["all"]}}`),
		},
		{"attach-twice", wire.EndpointAttached, "HcnModifyNamespace", h.namespace(t), attach(ep)},
		{"attach-remote", wire.InvalidRemoteOperation, "HcnModifyNamespace", ns, attach(remote)},
		{"attach-missing", wire.ENotFound, "HcnModifyNamespace", ns, attach(missing)},
		{"detach-other", wire.ENotFound, "HcnModifyNamespace", ns, strings.Replace(attach(other), "Add", "Remove", 1)},
		{"namespace-type", wire.EInvalidArg, "HcnCreateNamespace", "", `{"Type":"Elsewhere"}`},
		{
			"balancer-no-port", wire.InvalidPolicy, "HcnCreateLoadBalancer", "",
			fmt.Sprintf(`{"HostComputeEndpoints":[%q]}`, ep),
		},
		{
			"balancer-missing", wire.ENotFound, "HcnCreateLoadBalancer", "",
			fmt.Sprintf(
				`{"HostComputeEndpoints":[%q],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1}]}`, missing),
		},
		{"filter-not-json", wire.InvalidJSON, "HcnEnumerateNetworks", "", `{"Filter":"x"}`},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { h.fails(t, tt.want, tt.function, tt.object, tt.text) })
	}
}

func TestQueries(t *testing.T) {
	h := newHost(t)
	ep := h.endpoint(t, "10.244.1.5")
	h.endpoint(t, "10.244.1.6")
	filter := func(k, v string) string {
		f, _ := json.Marshal(map[string]string{k: v})
		q, _ := json.Marshal(wire.Query{Filter: string(f)})
		return string(q)
	}

	tests := map[string]struct {
		function, query string
		want            int
	}{
		"all":              {"HcnEnumerateEndpoints", "", 2},
		"by-name":          {"HcnEnumerateEndpoints", filter("Name", "ep-10.244.1.5"), 1},
		"name-has-case":    {"HcnEnumerateEndpoints", filter("Name", "EP-10.244.1.5"), 0},
		"by-id":            {"HcnEnumerateEndpoints", filter("ID", strings.ToLower(ep)), 1},
		"by-id-in-braces":  {"HcnEnumerateEndpoints", filter("ID", "{"+ep+"}"), 1},
		"by-network":       {"HcnEnumerateEndpoints", filter("VirtualNetwork", strings.ToLower(h.network)), 2},
		"by-nothing-known": {"HcnEnumerateEndpoints", filter("Colour", "blue"), 0},
		"networks":         {"HcnEnumerateNetworks", filter("Name", "cbr0"), 1},
		"namespaces":       {"HcnEnumerateNamespaces", filter("Type", "HostDefault"), 1},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var ids []string
			if err := json.Unmarshal([]byte(h.ok(t, tt.function, "", tt.query).Text), &ids); err != nil ||
				len(ids) != tt.want {
				t.Errorf("%v, %v; want %d", ids, err, tt.want)
			}
		})
	}
}

func TestStateSurvives(t *testing.T) {
	h := newHost(t)
	ep, ns := h.endpoint(t, "10.244.1.5"), h.namespace(t)
	h.ok(t, "HcnModifyNamespace", ns, attach(ep))
	data, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}

	loaded, err := hns.Load(config(), data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dataplane.Dump(h.Plan()), dataplane.Dump(loaded.Plan())); diff != "" {
		t.Errorf("plan after Load (-before +after):\n%s", diff)
	}

	for name, data := range map[string]string{
		"damaged": `{"version":1,`, "newer": `{"version":2}`, "null": `{"version":1,"endpoints":[null]}`,
		"no-network": `{"version":1,"endpoints":[{"ID":"` + ep + `","HostComputeNetwork":"` + h.network + `"}]}`,
	} {
		if _, err := hns.Load(config(), []byte(data)); err == nil {
			t.Errorf("%s state was loaded", name)
		}
	}
}

// A state of version 1, before there was a journal, is one document.
func TestStateOfVersion1(t *testing.T) {
	const net, ep, ns, lb = "11111111-0000-0000-0000-000000000001", "11111111-0000-0000-0000-000000000002",
		"11111111-0000-0000-0000-000000000003", "11111111-0000-0000-0000-000000000004"
	data := `{"version":1,"networks":[{"ID":"` + net + `","Name":"cbr0","Type":"L2Bridge","Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.1.0/24"}]}],
		"SchemaVersion":{"Major":2,"Minor":0},"Adapter":"Ethernet"}],
		"endpoints":[{"ID":"` + ep + `","HostComputeNetwork":"` + net + `","HostComputeNamespace":"` + ns + `","IpConfigurations":[{"IpAddress":"10.244.1.5","PrefixLength":24}],
		"MacAddress":"00-15-5D-00-00-05","SchemaVersion":{"Major":2,"Minor":0},"Interface":1}],
		"namespaces":[{"ID":"` + ns + `","NamespaceId":2,"Type":"Host","Resources":[{"Type":"Endpoint","Data":{"Id":"` + ep + `"}}],"SchemaVersion":{"Major":2,"Minor":0}}],
		"loadBalancers":[{"ID":"` + lb + `","HostComputeEndpoints":["` + ep + `"],"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":8080}],
		"SchemaVersion":{"Major":2,"Minor":0}}],"routes":null}`

	m, err := hns.Load(config(), []byte(strings.Join(strings.Fields(data), ""))) // it was one line
	if err != nil {
		t.Fatal(err)
	}

	got := dataplane.Dump(m.Plan())
	for _, want := range []string{
		"bridge " + net, "namespace " + ns, "port " + ep + " " + ns + "/eth1",
		"lb " + lb + " [10.96.0.1]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("plan lacks %q:\n%s", want, got)
		}
	}

	data2, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	again, err := hns.Load(config(), data2)
	if err != nil || dataplane.Dump(again.Plan()) != got {
		t.Errorf("written and read again: %v", err)
	}
}

func TestSupport(t *testing.T) {
	if err := support.Check(hns.SupportRows()); err != nil {
		t.Error(err)
	}
}
