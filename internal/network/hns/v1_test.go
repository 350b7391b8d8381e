package hns_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// v1 makes a call of HNS version 1 and returns the error's text; if there is none, out gets the answer.
func (h host) v1(t *testing.T, method, path, body string, out any) string {
	t.Helper()
	var reply wire.V1Reply
	if err := json.Unmarshal([]byte(h.ok(t, "HNSCall", "", method, path, body).Text), &reply); err != nil {
		t.Fatal(err)
	}

	if reply.Success && out != nil {
		if err := json.Unmarshal(reply.Output, out); err != nil {
			t.Fatal(err)
		}
	}
	if !reply.Success && (reply.ErrorCode == 0 || reply.Error == "") {
		t.Errorf("%s %s: %+v", method, path, reply)
	}

	return reply.Error
}

func TestVersion1Endpoints(t *testing.T) {
	h := newHost(t)
	var v wire.Version
	if msg := h.v1(t, "GET", "/globals/version", "", &v); msg != "" || v.Major != 15 {
		t.Errorf("version %+v, %s", v, msg)
	}

	var made, got wire.V1Endpoint
	body := fmt.Sprintf(`{"Name":"v1","VirtualNetwork":%q,"IPAddress":"10.244.1.7","GatewayAddress":"10.244.1.2","DNSServerList":"10.96.0.10",
		"Policies":[{"Type":"OutBoundNAT","ExceptionList":["10.244.0.0/16"]},{"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":8080},
		{"Type":"PA","PA":"192.168.0.5"}]}`, h.network)
	if msg := h.v1(t, "POST", "/endpoints/", body, &made); msg != "" {
		t.Fatal(msg)
	}

	if msg := h.v1(t, "GET", "/endpoints/"+strings.ToLower(made.ID), "", &got); msg != "" {
		t.Fatal(msg)
	}

	policies := jsonOf(got.Policies)
	if got.IPAddress != "10.244.1.7" || got.GatewayAddress != "10.244.1.2" || got.VirtualNetworkName != "cbr0" ||
		got.DNSServerList != "10.96.0.10" ||
		got.State != wire.V1StateCreated || strings.Count(policies, `"Type"`) != 3 ||
		!strings.Contains(policies, `"ExceptionList"`) ||
		!strings.Contains(policies, `"TCP"`) || !strings.Contains(policies, `"PA": "192.168.0.5"`) {
		t.Errorf("endpoint = %+v\n%s", got, policies)
	}

	var two wire.Endpoint
	if err := json.Unmarshal([]byte(h.ok(t, "HcnQueryEndpointProperties", made.ID).Text), &two); err != nil {
		t.Fatal(err)
	}
	if text := jsonOf(two.Policies); !strings.Contains(text, `"PortMapping"`) ||
		!strings.Contains(text, `"Protocol": 6`) || !strings.Contains(text, `"Exceptions"`) {
		t.Errorf("the same in schema 2: %s", text)
	}

	if msg := h.v1(t, "POST", "/endpoints/"+made.ID+"/attach", `{"SystemType":"Host","CompartmentId":1}`,
		nil); msg != "" {
		t.Error(msg)
	}
	if h.v1(t, "GET", "/endpoints/"+made.ID, "", &got); got.State != wire.V1StateAttached || got.Namespace == nil ||
		!got.Namespace.IsDefault {
		t.Errorf("attached endpoint = %+v", got)
	}

	if msg := h.v1(t, "POST", "/endpoints/"+made.ID+"/detach", `{"SystemType":"Host"}`, nil); msg != "" {
		t.Error(msg)
	}
	if msg := h.v1(t, "POST", "/endpoints/"+made.ID+"/attach", `{"SystemType":"VirtualMachine"}`, nil); msg == "" {
		t.Error("attached to a virtual machine")
	}

	// As hnslib's ApplyACLPolicy: the endpoint with its policies, and one more.
	got.Policies = append(
		got.Policies, json.RawMessage(
			`{"Type":"ACL","Protocol":6,"LocalPort":80,"Action":"Block","Direction":"In","Priority":100}`))
	if msg := h.v1(t, "POST", "/endpoints/"+made.ID, jsonOf(got), &got); msg != "" || len(got.Policies) != 4 {
		t.Errorf("%s, %d policies", msg, len(got.Policies))
	}

	// As Calico's Felix calls it: only the access rules are there, and the other policies stay.
	if msg := h.v1(t, "POST", "/endpoints/"+made.ID,
		`{"ID":"`+made.ID+`","Policies":[{"Type":"ACL","Id":"allow-host-to-endpoint","Protocol":256,"Action":"Allow","Direction":"In",
		"RemoteAddresses":"10.213.0.12/32,10.244.1.1/32","RuleType":"Switch","Priority":900},
		{"Type":"ACL","Protocol":6,"LocalPort":80,"Action":"Block","Direction":"In","RuleType":"Switch","Priority":1000},
		{"Type":"ACL","Protocol":256,"Action":"Allow","Direction":"In","RuleType":"Host"}]}`,
		&got); msg != "" || len(got.Policies) != 6 || !strings.Contains(jsonOf(got.Policies), `"ExceptionList"`) {
		t.Errorf("%s, policies %s", msg, jsonOf(got.Policies))
	}

	if msg := h.v1(t, "POST", "/endpoints/"+made.ID, `{"ID":"`+made.ID+`"}`, &got); msg != "" ||
		strings.Contains(jsonOf(got.Policies), "ACL") || len(got.Policies) != 3 {
		t.Errorf("%s, policies after an update without any: %s", msg, jsonOf(got.Policies))
	}
	if msg := h.v1(t, "POST", "/endpoints/"+made.ID,
		`{"Policies":[{"Type":"ACL","Protocol":6,"LocalPort":80,"Action":"Block","Direction":"In","Priority":100}]}`, &got); msg != "" {
		t.Error(msg)
	}

	ns := h.namespace(t)
	h.ok(t, "HcnModifyNamespace", ns, attach(made.ID))
	if acl := h.Plan().Ports[0].ACL; len(acl) != 1 || acl[0].Protocol != 6 || len(acl[0].LocalPorts) != 1 ||
		acl[0].LocalPorts[0].First != 80 {
		t.Errorf("rule of version 1: %+v", acl)
	}

	if msg := h.v1(t, "GET", "/endpoints/11111111-2222-3333-4444-555555555555", "", nil); !strings.HasPrefix(msg,
		"Element not found.") {
		t.Errorf("a missing endpoint gives %q", msg)
	}
	if msg := h.v1(t, "DELETE", "/endpoints/"+made.ID, "", &got); msg != "" {
		t.Error(msg)
	}

	var list []wire.V1Endpoint
	if msg := h.v1(t, "GET", "/endpoints/", "", &list); msg != "" || len(list) != 0 {
		t.Errorf("endpoints after delete: %v %s", list, msg)
	}
}

// A container shares the endpoints of its namespace; an answer that was cached before shows that too.
func TestVersion1Containers(t *testing.T) {
	h := newHost(t)
	ep := h.endpoint(t, "10.244.1.5")
	other := h.endpoint(t, "10.244.1.6")
	ns := h.namespace(t)
	h.ok(t, "HcnModifyNamespace", ns, attach(ep))
	var list []wire.V1Endpoint
	h.v1(t, "GET", "/endpoints", "", &list)
	h.ok(
		t, "HcnModifyNamespace", ns, `{"ResourceType":"Container","RequestType":"Add","Settings":{"ContainerId":"abc"}}`)

	var got wire.V1Endpoint
	if h.v1(t, "GET", "/endpoints/"+ep, "", &got); len(got.SharedContainers) != 1 || got.SharedContainers[0] != "abc" {
		t.Errorf("endpoint of a container: %+v", got)
	}

	if msg := h.v1(t, "POST", "/endpoints/"+other+"/attach", `{"SystemType":"Container","ContainerId":"ABC"}`,
		nil); msg != "" {
		t.Error(msg)
	}
	if got := len(h.Plan().Ports); got != 2 {
		t.Errorf("%d ports", got)
	}

	if msg := h.v1(t, "POST", "/endpoints/"+other+"/attach", `{"SystemType":"Container","ContainerId":"nobody"}`,
		nil); msg == "" {
		t.Error("attached to a container that there is not")
	}

	var made wire.V1Namespace
	if msg := h.v1(t, "POST", "/namespaces/", `{}`, &made); msg != "" {
		t.Fatal(msg)
	}
	if msg := h.v1(t, "POST", "/namespaces/"+made.ID+"/removeresource", `{"Type":"Endpoint","Data":{"Id":"`+ep+`"}}`,
		nil); !strings.HasPrefix(msg, "Element not found.") {
		t.Errorf("removed from a namespace that it is not in: %q", msg)
	}

	if msg := h.v1(t, "DELETE", "/namespaces/"+made.ID, "", nil); msg != "" {
		t.Error(msg)
	}
}

func TestVersion1Networks(t *testing.T) {
	h := host{Model: hns.New(newest())}
	var n wire.V1Network
	msg := h.v1(t, "POST", "/networks/", `{"Name":"vx","Type":"overlay","NetworkAdapterName":"Ethernet","Subnets":[{"AddressPrefix":"10.244.3.0/24",
		"GatewayAddress":"10.244.3.1","Policies":[{"Type":"VSID","VSID":4097}]}]}`, &n)
	if msg != "" {
		t.Fatal(msg)
	}

	if n.ManagementIP != "192.168.0.5" || n.Type != "Overlay" || len(n.Subnets) != 1 ||
		n.Subnets[0].GatewayAddress != "10.244.3.1" ||
		!strings.Contains(jsonOf(n.Subnets[0].Policies), `"VSID": 4097`) {
		t.Errorf("network = %+v", n)
	}

	if b := h.Plan().Bridges; len(b) != 1 || b[0].Overlay == nil || b[0].Overlay.VNI != 4097 {
		t.Errorf("plan %+v", b)
	}
	if msg := h.v1(t, "POST", "/networks/"+n.ID, `{"Policies":[{"Type":"RemoteSubnetRoute","DestinationPrefix":"10.244.4.0/24","IsolationId":4097,
		"ProviderAddress":"192.168.0.6","DistributedRouterMacAddress":"00-15-5d-aa-bb-cc"}]}`, &n); msg != "" || len(h.Plan().Peers) != 1 {
		t.Errorf("%s, peers %+v", msg, h.Plan().Peers)
	}

	if msg := h.v1(t, "POST", "/networks/", `{"ID":"`+n.ID+`","Name":"other","Type":"NAT"}`,
		nil); !strings.HasPrefix(msg, "A network already exists") {
		t.Errorf("an ID that is taken: %q", msg)
	}

	var all []wire.V1Network
	if h.v1(t, "GET", "/networks", "", &all); len(all) != 1 || all[0].Name != "vx" {
		t.Errorf("networks %+v", all)
	}
	if msg := h.v1(t, "DELETE", "/networks/"+n.ID, "", nil); msg != "" || len(h.Plan().Bridges) != 0 {
		t.Errorf("%s, plan %+v", msg, h.Plan())
	}
}

// Policy lists are the load balancers and routes of schema 2 (hnslib v0.1.2, internal/hns/hnspolicylist.go).
func TestVersion1PolicyLists(t *testing.T) {
	h := newHost(t)
	ep, ns := h.endpoint(t, "10.244.1.5"), h.namespace(t)
	h.ok(t, "HcnModifyNamespace", ns, attach(ep))
	var lb, route, got wire.V1PolicyList
	if msg := h.v1(t, "POST", "/policylists/",
		`{"References":["/endpoints/`+ep+`"],"Policies":[{"Type":"ELB","VIPs":["10.96.0.1"],"ILB":true,"Protocol":6,"InternalPort":80,"ExternalPort":8080}]}`, &lb); msg != "" {
		t.Fatal(msg)
	}

	if msg := h.v1(t, "POST", "/policylists",
		`{"References":["/endpoints/`+ep+`"],"Policies":[{"Type":"ROUTE","DestinationPrefix":"10.7.0.0/16","NextHop":"10.244.1.9"}]}`, &route); msg != "" {
		t.Fatal(msg)
	}

	plan := h.Plan()
	if len(plan.LoadBalancers) != 1 || plan.LoadBalancers[0].Port != 8080 || len(plan.Ports[0].Routes) != 2 {
		t.Errorf("plan %s", jsonOf(plan))
	}
	h.ok(t, "HcnOpenLoadBalancer", lb.ID)
	if h.v1(t, "GET", "/policylists/"+lb.ID, "", &got); len(got.References) != 1 ||
		got.References[0] != "/endpoints/"+ep || !strings.Contains(jsonOf(got.Policies), `"ILB": true`) {
		t.Errorf("policy list %s", jsonOf(got))
	}

	var all []wire.V1PolicyList
	if h.v1(t, "GET", "/policylists/", "", &all); len(all) != 2 {
		t.Errorf("%d policy lists", len(all))
	}

	for _, bad := range []string{
		`{"Policies":[]}`, `{"Policies":[{"Type":"VLAN"}]}`,
		`{"References":["/endpoints/x"],"Policies":[{"Type":"ELB"}]}`,
	} {
		if msg := h.v1(t, "POST", "/policylists/", bad, nil); msg == "" {
			t.Errorf("%s was taken", bad)
		}
	}

	for _, id := range []string{lb.ID, route.ID} {
		if msg := h.v1(t, "DELETE", "/policylists/"+id, "", nil); msg != "" {
			t.Error(msg)
		}
	}

	if plan := h.Plan(); len(plan.LoadBalancers) != 0 || len(plan.Ports[0].Routes) != 1 {
		t.Errorf("plan after delete: %s", jsonOf(plan))
	}
}

// TestVersion1Docker makes Docker's first network, whose subnet is left to HNS, and an endpoint with Docker's name
// server at the gateway.
func TestVersion1Docker(t *testing.T) {
	cfg := newest()
	server := netip.MustParseAddr("192.0.2.52")
	cfg.NameServers = func() []netip.Addr { return []netip.Addr{server} }
	h := host{Model: hns.New(cfg)}
	var network wire.V1Network
	body := `{"Name":"nat","Type":"nat","Subnets":[{"AddressPrefix":"0.0.0.0/0"}]}`
	if msg := h.v1(t, "POST", "/networks/", body, &network); msg != "" {
		t.Fatal(msg)
	}

	if len(network.Subnets) != 1 || network.Subnets[0].AddressPrefix != "172.16.0.0/20" ||
		network.Subnets[0].GatewayAddress != "172.16.0.1" {
		t.Errorf("subnets %+v", network.Subnets)
	}

	for _, bad := range []string{
		`{"Name":"b","Type":"nat","Subnets":[{"AddressPrefix":"10.1.0.0/16"}]}`,
		`{"Name":"b","Type":"l2bridge","Subnets":[{"AddressPrefix":"0.0.0.0/0"}]}`,
		`{"Name":"b","Type":"nat","Subnets":[{"AddressPrefix":"x"}]}`,
	} {
		if msg := h.v1(t, "POST", "/networks/", bad, nil); msg == "" {
			t.Errorf("%s is carried out", bad)
		}
	}

	if msg := h.v1(t, "POST", "/networks/", `{"Name":"b","Type":"l2bridge","Subnets":[{"AddressPrefix":"0.0.0.0/0"}]}`,
		nil); !strings.Contains(msg, "needs a subnet") {
		t.Errorf("a bridge that leaves its subnet to HNS is refused with %q", msg)
	}
	var outside wire.V1Network
	body = `{"Name":"t","Type":"transparent","Subnets":[{"AddressPrefix":"0.0.0.0/0"}]}`
	if msg := h.v1(t, "POST", "/networks/", body, &outside); msg != "" || len(outside.Subnets) > 0 {
		t.Errorf("a transparent network without a subnet: %q, %+v", msg, outside.Subnets)
	}

	server = server.Next() // the host's are others by the time that an endpoint is made
	for servers, want := range map[string]string{
		"":                                     "172.16.0.1,192.0.2.53",
		`,"DNSServerList":"10.0.0.1,10.0.0.2"`: "172.16.0.1,10.0.0.1,10.0.0.2",
	} {
		var made wire.V1Endpoint
		body := fmt.Sprintf(`{"VirtualNetwork":%q,"EnableInternalDNS":true%s}`, network.ID, servers)
		if msg := h.v1(t, "POST", "/endpoints/", body, &made); msg != "" {
			t.Fatal(msg)
		}
		if made.DNSServerList != want || !made.EnableInternalDNS {
			t.Errorf("with %q the name servers are %q, want %q", servers, made.DNSServerList, want)
		}
	}
}
