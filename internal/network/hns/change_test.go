package hns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// script turns bytes into requests: a function with arguments out of a small set, so that requests often concern the
// same objects.
type script struct {
	data []byte
	ids  []string // what was made
}

func (s *script) next(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

func pick[T any](s *script, from ...T) T { return from[s.next(len(from))] }

func (s *script) id() string {
	if len(s.ids) == 0 {
		return "11111111-2222-3333-4444-555555555555"
	}
	return s.ids[s.next(len(s.ids))]
}

func (s *script) addr() string {
	return pick(s, "10.1.0.", "10.2.0.", "10.3.0.", "fd00:1::") + fmt.Sprint(s.next(8))
}

func (s *script) policy() string {
	return pick(s,
		`{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"]}}`,
		`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":`+pick(s, "8080", "8081")+`}}`,
		`{"Type":"ACL","Settings":{"Protocols":"6","Action":"Block","Direction":"In","RemoteAddresses":"`+pick(s, "10.0.0.0/8", "set1", "")+`","Priority":200}}`,
		`{"Type":"SDNRoute","Settings":{"DestinationPrefix":"10.9.0.0/16","NextHop":"10.1.0.1"}}`,
		`{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.0.9"}}`,
		`{"Type":"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":1000}}`)
}

func (s *script) netPolicy() string {
	return pick(s,
		`{"Type":"SetPolicy","Settings":{"Id":"set1","Name":"s","PolicyType":"IPSET","Values":"`+pick(s, "10.4.0.1", "10.4.0.2,10.4.0.3", "")+`"}}`,
		`{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"`+pick(s, "10.7.0.0/24", "10.8.0.0/24")+`","IsolationId":4096,"ProviderAddress":"192.168.0.7","DistributedRouterMacAddress":"00-15-5d-00-00-01"}}`,
		`{"Type":"NetworkACL","Settings":{"Action":"Allow","Direction":"Out","Priority":100}}`)
}

func (s *script) request() hns.Request {
	modify := pick(s, "Add", "Remove", "Update", "Refresh")

	switch s.next(14) {
	case 0:
		n := s.next(4)
		settings := []string{
			network("net0", "10.1.0.0/24", "10.1.0.1"),
			overlay("net1", "10.2.0.0/24", "10.2.0.1", 4096),
			strings.Replace(network("net2", "10.3.0.0/24", "10.3.0.1"), "L2Bridge", "NAT", 1),
			strings.Replace(network("net3", "fd00:1::/64", "fd00:1::1"), "0.0.0.0/0", "::/0", 1),
		}
		return hns.Request{Function: "HcnCreateNetwork", Text: []string{settings[n]}}

	case 1, 2, 3:
		return hns.Request{
			Function: "HcnCreateEndpoint",
			Object:   s.id(),
			Text: []string{fmt.Sprintf(
				`{"Flags":%d,"IpConfigurations":[{"IpAddress":%q}],"Policies":[%s]}`, s.next(2), s.addr(), s.policy())},
		}

	case 4:
		return hns.Request{
			Function: "HcnCreateNamespace",
			Text:     []string{pick(s, `{"Type":"Host"}`, `{"Type":"HostDefault"}`, `{"Type":"Guest"}`)},
		}

	case 5, 6:
		return hns.Request{
			Function: "HcnCreateLoadBalancer",
			Text: []string{fmt.Sprintf(
				`{"HostComputeEndpoints":[%q,%q],"FrontendVIPs":%s,"Flags":%d,"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":%d}]}`,
				s.id(), s.id(), pick(s, "[]", `["10.96.0.1"]`, `["10.96.0.2","fd96::1"]`), s.next(4), 80+s.next(3))},
		}

	case 7:
		return hns.Request{
			Function: "HcnCreateSdnRoute",
			Text: []string{fmt.Sprintf(
				`{"HostComputeEndpoints":[%q],"Setting":[{"DestinationPrefix":"10.10.0.0/16","NextHop":"10.1.0.1"}]}`, s.id())},
		}

	case 8, 9:
		return hns.Request{
			Function: "HcnModifyNamespace",
			Object:   s.id(),
			Text: []string{fmt.Sprintf(
				`{"ResourceType":%q,"RequestType":%q,"Settings":{"EndpointId":%q,"ContainerId":"c"}}`, pick(s, "Endpoint", "Endpoint", "Container"), modify, s.id())},
		}

	case 10:
		return hns.Request{
			Function: "HcnModifyEndpoint",
			Object:   s.id(),
			Text: []string{fmt.Sprintf(
				`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, modify, s.policy())},
		}

	case 11:
		return hns.Request{
			Function: "HcnModifyNetwork",
			Object:   s.id(),
			Text: []string{fmt.Sprintf(
				`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, modify, s.netPolicy())},
		}

	case 12:
		return hns.Request{
			Function: "HNSCall",
			Text: []string{
				pick(s, "GET", "DELETE", "POST"),
				"/" + pick(s, "networks", "endpoints", "namespaces", "policylists") + "/" + s.id() + pick(s, "",
					"/attach", "/detach"), `{"SystemType":"Host"}`,
			},
		}

	default:
		return hns.Request{
			Function: "HcnDelete" + pick(s, "Network", "Endpoint", "Namespace", "LoadBalancer", "SdnRoute"),
			Object:   s.id(),
		}
	}
}

// run carries the script out and checks after each call what must be true of every model.
func (s *script) run(t *testing.T, m *hns.Model) {
	t.Helper()
	state, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}

	for step := 0; len(s.data) > 0; step++ {
		r := s.request()
		before := m.Plan()
		var twin *hns.Model // a model loaded from the saved state, without any index of this one
		if step%3 == 0 {
			twin = reloaded(t, m)
		}

		reply, err := m.Call(r)
		if twin != nil {
			if _, other := twin.Call(r); !sameCode(err, other) {
				t.Fatalf("%+v: %v, and %v for a model that was just loaded", r, err, other)
			}
			twin = reloaded(t, m)
			if got, want := m.Plan(), twin.Plan(); !equal(got, want) {
				t.Fatalf("%+v: the plan is not that of the state (-state +plan):\n%s", r, cmp.Diff(want, got, prefixes))
			}
		}

		if bad := (*wire.Error)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%s: an error without a code: %v", r.Function, err)
		}
		if err != nil && m.Changed() {
			t.Fatalf("%s failed and left a change: %v", r.Function, err)
		}

		change, plan := m.Change(), m.Plan()
		if got := before.With(change); !equal(got, plan) {
			t.Fatalf("%+v: the change leads elsewhere than the plan is (-change +plan):\n%s", r,
				cmp.Diff(got, plan, prefixes))
		}

		checkPlan(t, plan)
		records, recErr := m.Records()
		if recErr != nil {
			t.Fatal(recErr)
		}

		if s.next(8) == 7 { // as if the kernel refused
			m.Rollback()
			if got := m.Plan(); !equal(got, before) {
				t.Fatalf("%+v: the plan after taking it back (-before +after):\n%s", r, cmp.Diff(before, got, prefixes))
			}
			continue
		}

		m.Commit()
		state = append(state, hns.Line(records)...)
		if reply.Object != "" {
			s.ids = append(s.ids, reply.Object)
		}
	}

	loaded, err := hns.Load(newest(), state)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loaded.Plan(), m.Plan(); !equal(got, want) {
		t.Fatalf("the plan of the saved state (-model +loaded):\n%s", cmp.Diff(want, got, prefixes))
	}

	one, _ := m.Save()
	two, _ := loaded.Save()
	if !bytes.Equal(one, two) {
		t.Fatalf("state written after it was read:\n%s", cmp.Diff(string(one), string(two)))
	}
}

func reloaded(t *testing.T, m *hns.Model) *hns.Model {
	t.Helper()
	state, err := m.Save()
	if err != nil {
		t.Fatal(err)
	}
	twin, err := hns.Load(newest(), state)
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

func sameCode(a, b error) bool {
	var one, two *wire.Error
	if !errors.As(a, &one) || !errors.As(b, &two) {
		return a == nil && b == nil
	}
	return one.Code == two.Code
}

func equal(a, b netplan.Plan) bool {
	one, _ := json.Marshal(a)
	two, _ := json.Marshal(b)
	return bytes.Equal(one, two)
}

var prefixes = cmp.Transformer("json", func(p netplan.Plan) string {
	data, _ := json.MarshalIndent(p, "", " ")
	return string(data)
})

// checkPlan looks whether everything that the plan names is in it.
func checkPlan(t *testing.T, p netplan.Plan) {
	t.Helper()
	bridges := map[string]netplan.Mode{}
	spaces := map[string]bool{}
	seen := map[string]bool{}
	for _, b := range p.Bridges {
		bridges[b.ID] = b.Mode
		if (b.Overlay != nil) != (b.Mode == netplan.Overlay) {
			t.Errorf("bridge %s of mode %s has overlay %v", b.ID, b.Mode, b.Overlay)
		}
	}

	for _, n := range p.Namespaces {
		spaces[n] = true
	}

	for _, port := range p.Ports {
		where := port.Namespace + "/" + port.Name
		if bridges[port.Bridge] == "" || !spaces[port.Namespace] || seen[where] || len(port.Addrs) == 0 {
			t.Errorf("port %s is on bridge %q in %q, taken %v, addresses %v", port.ID, port.Bridge, where, seen[where],
				port.Addrs)
		}
		seen[where] = true
	}

	for _, peer := range p.Peers {
		if bridges[peer.Bridge] != netplan.Overlay || !peer.VTEP.IsValid() {
			t.Errorf("peer %+v is on a bridge of mode %q", peer, bridges[peer.Bridge])
		}
	}

	for _, lb := range p.LoadBalancers {
		for _, b := range lb.Backends {
			if len(lb.VIPs) > 0 && b.Addr().Is4() != lb.VIPs[0].Is4() {
				t.Errorf("load balancer %s of %v sends to %v", lb.ID, lb.VIPs, lb.Backends)
			}
		}
	}
}

func TestChangesLeadToThePlan(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 1500)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		s := script{data: data}
		s.run(t, hns.New(newest()))
		if len(s.ids) < 10 {
			t.Errorf("seed %d made only %d objects", seed, len(s.ids))
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04\x00\x01\x00\x00\x05"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			return
		}
		(&script{data: data}).run(t, hns.New(newest()))
	})
}

// FuzzCall sends any text to any function of a host that has objects already.
func FuzzCall(f *testing.F) {
	f.Add("HcnCreateEndpoint", `{"IpConfigurations":[{"IpAddress":"10.244.1.9"}]}`, "")
	f.Add(
		"HcnModifyNetwork", `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"SetPolicy","Settings":{"Id":"a","PolicyType":"NESTEDIPSET","Values":"a,b"}}]}}`, "")
	f.Add("HNSCall", "/policylists/", `{"References":["/endpoints/x"],"Policies":[{"Type":"ELB","Protocol":6}]}`)
	f.Add("HcnEnumerateEndpoints", `{"Filter":"{\"ID\":\"x\"}"}`, "")

	f.Fuzz(func(t *testing.T, function, one, two string) {
		m := hns.New(newest())
		made, err := m.Call(hns.Request{
			Function: "HcnCreateNetwork",
			Text:     []string{network("cbr0", "10.244.1.0/24", "10.244.1.1")},
		})
		if err != nil {
			t.Fatal(err)
		}

		m.Commit()
		before, _ := m.Save()
		text := []string{one, two}
		if function == "HNSCall" {
			text = []string{"POST", one, two}
		}

		_, err = m.Call(hns.Request{
			Function: function,
			Object:   made.Object,
			Text:     text,
		})
		if bad := (*wire.Error)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatalf("an error without a code: %v", err)
		}

		if after, _ := m.Save(); err != nil && !bytes.Equal(before, after) {
			t.Fatalf("%v, and it changed the state", err)
		}

		plan := m.Plan()
		checkPlan(t, plan)
		m.Commit()
		state, err := m.Save()
		if err != nil {
			t.Fatal(err)
		}

		loaded, err := hns.Load(newest(), state)
		if err != nil || !equal(loaded.Plan(), plan) {
			t.Fatalf("loaded: %v", err)
		}
	})
}
