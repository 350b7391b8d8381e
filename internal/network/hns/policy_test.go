package hns_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// Each policy of an endpoint, with what it adds to the plan, or with the result code if it is refused.
func TestEndpointPolicies(t *testing.T) {
	nets := func(all ...string) []netip.Prefix {
		var out []netip.Prefix
		for _, s := range all {
			out = append(out, prefix(s))
		}
		return out
	}

	tests := []struct {
		name, policy string
		fails        wire.HRESULT
		want         netplan.Port // what it adds to a port without policies
		lb           *netplan.LoadBalancer
	}{
		{
			name:   "nat",
			policy: `"OutBoundNAT","Settings":{"Exceptions":["10.0.0.0/8"," fd00::1"],"Destinations":["10.1.0.0/16"],"VirtualIP":"192.168.0.5"}`,
			want: netplan.Port{NAT: []netplan.NAT{{
				Except: nets("10.0.0.0/8", "fd00::1/128"),
				Only:   nets("10.1.0.0/16"),
				To:     netip.MustParseAddr("192.168.0.5"),
			}}},
		},
		{name: "nat-no-address", policy: `"OutBoundNAT","Settings":{"VirtualIP":"here"}`, fails: wire.InvalidPolicy},
		{
			name:   "nat-wrong-type",
			policy: `"OutBoundNAT","Settings":{"Exceptions":"10.0.0.0/8"}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name:   "route",
			policy: `"SDNRoute","Settings":{"DestinationPrefix":"10.7.0.1/16","NextHop":"10.244.1.9","NeedEncap":true}`,
			want: netplan.Port{Routes: []netplan.Route{{
				Dst: prefix("10.7.0.0/16"),
				Via: netip.MustParseAddr("10.244.1.9"),
			}}},
		},
		{
			name:   "route-beyond-the-subnet",
			policy: `"SDNRoute","Settings":{"DestinationPrefix":"10.7.0.0/16","NextHop":"192.168.0.9"}`,
		},
		{
			name:   "route-mixed",
			policy: `"SDNRoute","Settings":{"DestinationPrefix":"10.7.0.0/16","NextHop":"fd00::1"}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name:   "port-mapping",
			policy: `"PortMapping","Settings":{"Protocol":17,"InternalPort":53,"ExternalPort":5353,"VIP":"0.0.0.0"}`,
			lb: &netplan.LoadBalancer{
				Protocol: netplan.UDP,
				Port:     5353,
				External: true,
				Backends: []netip.AddrPort{netip.MustParseAddrPort("10.244.1.5:53")},
			},
		},
		{
			name:   "port-mapping-of-one-address",
			policy: `"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8080,"VIP":"192.168.0.5"}`,
			lb: &netplan.LoadBalancer{
				VIPs:     []netip.Addr{netip.MustParseAddr("192.168.0.5")},
				Protocol: netplan.TCP,
				Port:     8080,
				External: true,
				Backends: []netip.AddrPort{netip.MustParseAddrPort("10.244.1.5:80")},
			},
		},
		{
			name:   "port-mapping-no-port",
			policy: `"PortMapping","Settings":{"Protocol":6,"InternalPort":80}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name:   "port-mapping-taken",
			policy: `"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":9999}`,
			fails:  wire.PortAlreadyExists,
		},
		{
			name:   "acl",
			policy: `"ACL","Settings":{"Protocols":"6,17","Action":"Block","Direction":"In","LocalPorts":"80,8000-8080","RemoteAddresses":"10.0.0.0/8,192.168.0.1","RuleType":"Switch","Priority":200}`,
			want: netplan.Port{ACL: []netplan.ACL{
				{
					Priority:   200,
					In:         true,
					Block:      true,
					Protocol:   6,
					LocalPorts: []netplan.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8080}},
					Remote:     nets("10.0.0.0/8", "192.168.0.1/32"),
				},
				{
					Priority:   200,
					In:         true,
					Block:      true,
					Protocol:   17,
					LocalPorts: []netplan.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8080}},
					Remote:     nets("10.0.0.0/8", "192.168.0.1/32"),
				},
			}},
		},
		{
			name:   "acl-everything",
			policy: `"ACL","Settings":{"Protocols":"256","Action":"Allow","Direction":"Out","RuleType":"Host"}`,
			want:   netplan.Port{ACL: []netplan.ACL{{Host: true}}},
		},
		{
			name:   "acl-set",
			policy: `"ACL","Settings":{"Action":"Allow","Direction":"Out","RemoteAddresses":"ALL,10.9.0.1"}`,
			want:   netplan.Port{ACL: []netplan.ACL{{Remote: nets("10.5.0.1/32", "10.6.0.0/16", "10.9.0.1/32")}}},
		},
		{
			name:   "acl-empty-set-is-not-everything",
			policy: `"ACL","Settings":{"Action":"Allow","Direction":"Out","RemoteAddresses":"none"}`,
		},
		{
			name:   "acl-no-set",
			policy: `"ACL","Settings":{"Action":"Allow","Direction":"Out","RemoteAddresses":"some"}`,
			fails:  wire.InvalidPolicy,
		},
		{name: "acl-no-action", policy: `"ACL","Settings":{"Direction":"Out"}`, fails: wire.InvalidPolicy},
		{name: "acl-no-direction", policy: `"ACL","Settings":{"Action":"Allow"}`, fails: wire.InvalidPolicy},
		{name: "acl-pass", policy: `"ACL","Settings":{"Action":"Pass","Direction":"Out"}`, fails: wire.InvalidPolicy},
		{
			name:   "acl-ports-of-icmp",
			policy: `"ACL","Settings":{"Action":"Allow","Direction":"Out","Protocols":"1","LocalPorts":"80"}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name:   "acl-ports-backwards",
			policy: `"ACL","Settings":{"Action":"Allow","Direction":"Out","Protocols":"6","LocalPorts":"81-80"}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name: "tier",
			policy: `"TierAcl","Settings":{"Name":"t","Direction":"In","Order":1001,"TierAclRules":[
			{"Id":"a","Protocols":"6","TierAclRuleAction":"Pass","LocalPorts":"80","Priority":2001},{"TierAclRuleAction":"Block","Priority":2100}]}`,
			want: netplan.Port{ACL: []netplan.ACL{
				{
					Tier:       1001,
					Priority:   2001,
					In:         true,
					Pass:       true,
					Protocol:   6,
					LocalPorts: []netplan.PortRange{{First: 80, Last: 80}},
				},
				{Tier: 1001, Priority: 2100, In: true, Block: true},
			}},
		},
		{
			name:   "qos",
			policy: `"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":125000}`,
			want:   netplan.Port{EgressBPS: 1000000},
		},
		{
			name:   "qos-too-much",
			policy: `"QOS","Settings":{"MaximumOutgoingBandwidthInBytes":18446744073709551615}`,
			fails:  wire.InvalidPolicy,
		},
		{
			name:   "proxy",
			policy: `"L4Proxy","Settings":{"IP":"10.244.1.2","Port":"15001","Protocol":6,"Destination":"169.254.169.254","Exceptions":["10.0.0.0/8"]}`,
			want: netplan.Port{Proxies: []netplan.Proxy{{
				Protocol: 6,
				Port:     15001,
				Addr:     netip.MustParseAddr("10.244.1.2"),
				Remote:   nets("169.254.169.254/32"),
				Except:   nets("10.0.0.0/8"),
			}}},
		},
		{name: "proxy-no-port", policy: `"L4Proxy","Settings":{"Destination":"10.0.0.1"}`, fails: wire.InvalidPolicy},
		{
			name: "wfp-proxy",
			policy: `"L4WFPPROXY","Settings":{"InboundProxyPort":"15003","OutboundProxyPort":"15001","UserSID":"S-1-5-32-556",
			"FilterTuple":{"Protocols":"6","RemotePorts":"80"},"OutboundExceptions":{"IpAddressExceptions":["127.0.0.1"],"PortExceptions":["443"]}}`,
			want: netplan.Port{Proxies: []netplan.Proxy{
				{In: true, Protocol: 6, Port: 15003, ExceptUser: "S-1-5-32-556"},
				{
					Protocol:    6,
					Port:        15001,
					ExceptUser:  "S-1-5-32-556",
					Ports:       []netplan.PortRange{{First: 80, Last: 80}},
					Except:      nets("127.0.0.1/32"),
					ExceptPorts: []netplan.PortRange{{First: 443, Last: 443}},
				},
			}},
		},
		{name: "wfp-proxy-nowhere", policy: `"L4WFPPROXY","Settings":{}`, fails: wire.InvalidPolicy},
		{name: "overhead", policy: `"EncapOverhead","Settings":{"Overhead":50}`, want: netplan.Port{EncapOverhead: 50}},
		{
			name:   "overhead-leaves-nothing",
			policy: `"EncapOverhead","Settings":{"Overhead":1400}`,
			fails:  wire.InvalidPolicy,
		},
		{name: "provider", policy: `"ProviderAddress","Settings":{"ProviderAddress":"192.168.0.5"}`},
		{name: "provider-no-address", policy: `"ProviderAddress","Settings":{}`, fails: wire.InvalidPolicy},
		{name: "port-name", policy: `"PortName","Settings":{"Name":"p"}`},
		{name: "iov", policy: `"Iov","Settings":{"IovOffloadWeight":100}`},
		{name: "iov-wrong-type", policy: `"Iov","Settings":{"IovOffloadWeight":"all"}`, fails: wire.InvalidPolicy},
		{name: "l2-driver", policy: `"L2Driver"`},
		{name: "unknown", policy: `"Teleport"`, fails: wire.InvalidPolicyType},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := host{Model: hns.New(newest())}
			h.network = h.ok(t, "HcnCreateNetwork", "",
				strings.Replace(network("cbr0", "10.244.1.0/24", "10.244.1.1"), `"Ipams"`,
					`"Policies":[{"Type":"SetPolicy","Settings":{"Id":"five","PolicyType":"IPSET","Values":"10.5.0.1"}},
				{"Type":"SetPolicy","Settings":{"Id":"all","PolicyType":"NESTEDIPSET","Values":"five,six,all"}},
				{"Type":"SetPolicy","Settings":{"Id":"six","PolicyType":"IPSET","Values":"10.6.0.0/16"}},
				{"Type":"SetPolicy","Settings":{"Id":"none","PolicyType":"IPSET"}}],"Ipams"`, 1)).Object

			h.ok(t, "HcnCreateEndpoint", h.network,
				`{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":9999}}]}`)
			settings := `{"MacAddress":"00-15-5d-00-00-05","IpConfigurations":[{"IpAddress":"10.244.1.5"}],"Policies":[{"Type":` + tt.policy + `}]}`
			if tt.fails != 0 {
				h.fails(t, tt.fails, "HcnCreateEndpoint", h.network, settings)
				return
			}

			ep, ns := h.ok(t, "HcnCreateEndpoint", h.network, settings).Object, h.namespace(t)
			h.ok(t, "HcnModifyNamespace", ns, attach(ep))
			want := tt.want
			want.ID = ep
			want.Bridge = h.network
			want.Namespace = ns
			want.Name = "eth0"
			want.MAC = "00:15:5d:00:00:05"
			want.Addrs = nets("10.244.1.5/24")
			want.Routes = append([]netplan.Route{{
				Dst: prefix("0.0.0.0/0"),
				Via: netip.MustParseAddr("10.244.1.1"),
			}}, want.Routes...)

			plan := h.Plan()
			if got, exp := jsonOf(plan.Ports), jsonOf([]netplan.Port{want}); got != exp {
				t.Errorf("port (-want +got):\n%s", cmp.Diff(exp, got))
			}
			var lbs []netplan.LoadBalancer
			if tt.lb != nil {
				tt.lb.ID = ep + "-map0"
				lbs = append(lbs, *tt.lb)
			}

			if got, exp := jsonOf(plan.LoadBalancers), jsonOf(lbs); got != exp {
				t.Errorf("load balancers (-want +got):\n%s", cmp.Diff(exp, got))
			}
		})
	}
}

func jsonOf(v any) string {
	data, _ := json.MarshalIndent(v, "", " ")
	return string(data)
}

// A network's rules apply to all of its endpoints, and a set that changes also changes the rules that name it.
func TestNetworkPoliciesReachEndpoints(t *testing.T) {
	h := host{Model: hns.New(newest())}
	h.network = h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1")).Object
	modify := func(request, policies string) string {
		return fmt.Sprintf(`{"ResourceType":"Policy","RequestType":%q,"Settings":{"Policies":[%s]}}`, request, policies)
	}
	set := func(values string) string {
		return fmt.Sprintf(`{"Type":"SetPolicy","Settings":{"Id":"db","Name":"db","PolicyType":"IPSET","Values":%q}}`,
			values)
	}

	ep, ns := h.endpoint(t, "10.244.1.5"), h.namespace(t)
	h.ok(t, "HcnModifyNamespace", ns, attach(ep))
	h.ok(t, "HcnModifyNetwork", h.network, modify("Add", set("10.5.0.1")))
	h.ok(t, "HcnModifyEndpoint", ep, modify("Add",
		`{"Type":"ACL","Settings":{"Action":"Block","Direction":"Out","RemoteAddresses":"db"}}`))

	if _, err := h.Call(hns.Request{
		Function: "HcnModifyNetwork",
		Object:   h.network,
		Text:     []string{modify("Update", set("10.5.0.1,10.5.0.2"))},
	}); err != nil {
		t.Fatal(err)
	}

	change := h.Change()
	if len(change.Set.Ports) != 1 || len(change.Set.Ports[0].ACL) != 1 || len(change.Set.Ports[0].ACL[0].Remote) != 2 {
		t.Errorf("the change of a set: %+v", change)
	}

	h.Commit()
	// a rule names it
	h.fails(t, wire.InvalidPolicy, "HcnModifyNetwork", h.network, modify("Remove", set("10.5.0.1,10.5.0.2")))
	h.ok(t, "HcnModifyNetwork", h.network,
		modify("Add", `{"Type":"NetworkACL","Settings":{"Action":"Allow","Direction":"In","Priority":7}}`))
	if got := h.Plan().Ports[0].ACL; len(got) != 2 || got[1].Priority != 7 {
		t.Errorf("rules with the network's: %+v", got)
	}
}

func TestLoadBalancers(t *testing.T) {
	h := host{Model: hns.New(newest())}
	h.network = h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.0.0/16", "10.244.0.1")).Object
	var eps []string
	for i := range 65 {
		eps = append(eps, h.ok(t, "HcnCreateEndpoint", h.network,
			fmt.Sprintf(`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.244.9.%d"}]}`, i+1)).Object)
	}

	v6 := h.ok(t, "HcnCreateEndpoint", h.network, `{"Flags":1,"IpConfigurations":[{"IpAddress":"fd00::9"}]}`).Object
	list := jsonOf(eps)

	tests := []struct {
		name, settings string
		fails          wire.HRESULT
		want           netplan.LoadBalancer
	}{
		{
			name:     "64-destinations-without-dsr",
			settings: `"HostComputeEndpoints":` + list + `,"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1}]`,
			fails:    wire.EInvalidArg,
		},
		{
			name:     "no-destination",
			settings: `"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1}]`,
			fails:    wire.EInvalidArg,
		},
		{
			name:     "protocol",
			settings: `"HostComputeEndpoints":["` + eps[0] + `"],"PortMappings":[{"Protocol":1,"InternalPort":1,"ExternalPort":1}]`,
			fails:    wire.InvalidPolicy,
		},
		{
			name:     "vip-of-the-other-family",
			settings: `"Flags":2,"HostComputeEndpoints":["` + v6 + `"],"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1}]`,
			fails:    wire.InvalidIP,
		},
		{
			name:     "source-is-the-vip",
			settings: `"SourceVIP":"10.96.0.9","HostComputeEndpoints":["` + eps[0] + `"],"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1}]`,
			fails:    wire.AddrInvalidOrReserved,
		},
		{
			name:     "same-port-twice",
			settings: `"HostComputeEndpoints":["` + eps[0] + `"],"PortMappings":[{"Protocol":6,"InternalPort":1,"ExternalPort":1},{"Protocol":6,"InternalPort":2,"ExternalPort":1}]`,
			fails:    wire.PortAlreadyExists,
		},
		{
			name:     "cluster-ip",
			settings: `"Flags":1,"SourceVIP":"10.244.0.9","HostComputeEndpoints":["` + eps[0] + `"],"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":8080,"DistributionType":2}]`,
			want: netplan.LoadBalancer{
				VIPs:      []netip.Addr{netip.MustParseAddr("10.96.0.9")},
				Protocol:  6,
				Port:      8080,
				External:  true,
				ByClient:  true,
				DSR:       true,
				SourceVIP: netip.MustParseAddr("10.244.0.9"),
				Backends:  []netip.AddrPort{netip.MustParseAddrPort("10.244.9.1:80")},
			},
		},
		{
			name:     "internal",
			settings: `"HostComputeEndpoints":["` + eps[0] + `"],"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":17,"InternalPort":53,"ExternalPort":53,"Flags":1}]`,
			want: netplan.LoadBalancer{
				VIPs:     []netip.Addr{netip.MustParseAddr("10.96.0.9")},
				Protocol: 17,
				Port:     53,
				Backends: []netip.AddrPort{netip.MustParseAddrPort("10.244.9.1:53")},
			},
		},
		{
			name:     "preserved-destination",
			settings: `"Flags":1,"HostComputeEndpoints":["` + eps[0] + `"],"FrontendVIPs":["10.96.0.9"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80,"Flags":28}]`,
			want: netplan.LoadBalancer{
				VIPs:        []netip.Addr{netip.MustParseAddr("10.96.0.9")},
				Protocol:    6,
				Port:        80,
				External:    true,
				DSR:         true,
				PreserveDIP: true,
				Backends:    []netip.AddrPort{netip.MustParseAddrPort("10.244.9.1:80")},
			},
		},
		{
			name:     "node-port-ipv6",
			settings: `"Flags":2,"HostComputeEndpoints":["` + v6 + `"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":30080}]`,
			want: netplan.LoadBalancer{
				Protocol: 6,
				Port:     30080,
				External: true,
				Backends: []netip.AddrPort{netip.MustParseAddrPort("[fd00::9]:80")},
			},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.fails != 0 {
				h.fails(t, tt.fails, "HcnCreateLoadBalancer", "", `{`+tt.settings+`}`)
				return
			}
			id := h.ok(t, "HcnCreateLoadBalancer", "", `{`+tt.settings+`}`).Object
			tt.want.ID = id
			if got, exp := jsonOf(h.Plan().LoadBalancers), jsonOf([]netplan.LoadBalancer{tt.want}); got != exp {
				t.Errorf("plan (-want +got):\n%s", cmp.Diff(exp, got))
			}

			h.fails(t, wire.PortAlreadyExists, "HcnCreateLoadBalancer", "", `{`+tt.settings+`}`)
			h.ok(t, "HcnModifyLoadBalancer", id, `{`+tt.settings+`}`) // as hnslib sends it: without a request around it
			h.ok(t, "HcnDeleteLoadBalancer", id)
			// its port is free again
			h.ok(t, "HcnDeleteLoadBalancer", h.ok(t, "HcnCreateLoadBalancer", "", `{`+tt.settings+`}`).Object)
		})
	}

	_, err := h.Call(hns.Request{Function: "HcnCreateLoadBalancer", Text: []string{`{` + tests[0].settings + `}`}})
	const words = `The parameter is incorrect. Unable to initialize VFP LB rule: invalid number of destinations.`
	if e, ok := err.(*wire.Error); !ok || e.Text() != words { //nolint:errorlint // the model returns them bare
		t.Errorf("65 destinations: %v; want the words of Windows, %q", err, words)
	}

	h.ok(t, "HcnCreateLoadBalancer", "", `{"Flags":1,`+tests[0].settings+`}`) // direct server return has no such limit
	modern := newest()
	modern.Profile = hns.Modern
	data, _ := h.Save()
	m, err := hns.Load(modern, data)
	if err != nil {
		t.Fatal(err)
	}

	host{Model: m}.ok(t, "HcnCreateLoadBalancer", "",
		`{`+strings.ReplaceAll(tests[0].settings, "10.96.0.9", "10.96.0.10")+`}`)
}

// Load balancers that do not share ports use the dynamic ports up.
func TestBalancersTakePorts(t *testing.T) {
	for _, c := range []struct {
		version wire.Version
		profile hns.Profile
		limited bool
	}{{wire.Version{
		Major: 7,
		Minor: 2,
	}, "", true}, {wire.Version{
		Major: 7,
		Minor: 2,
	}, hns.Modern, false}, {wire.Version{Major: 9, Minor: 5}, "", false}} {
		cfg := config()
		cfg.Version, cfg.Profile = c.version, c.profile
		h := host{Model: hns.New(cfg)}
		n := h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1")).Object
		ep := h.ok(t, "HcnCreateEndpoint", n, `{"IpConfigurations":[{"IpAddress":"10.244.1.9"}]}`).Object
		balancer := func(i, protocol int) string {
			return fmt.Sprintf(
				`{"HostComputeEndpoints":[%q],"FrontendVIPs":["10.96.%d.%d"],"PortMappings":[{"Protocol":%d,"InternalPort":80,"ExternalPort":80}]}`,
				ep, i>>8, i&255, protocol)
		}

		var first string
		for i := range 256 {
			first = h.ok(t, "HcnCreateLoadBalancer", "", balancer(i, 6)).Object
		}

		h.ok(t, "HcnCreateLoadBalancer", "", balancer(256, 17))
		if !c.limited {
			h.ok(t, "HcnCreateLoadBalancer", "", balancer(256, 6))
			continue
		}

		h.fails(t, wire.PortAlreadyExists, "HcnCreateLoadBalancer", "", balancer(256, 6))
		h.ok(t, "HcnDeleteLoadBalancer", first)
		h.ok(t, "HcnCreateLoadBalancer", "", balancer(256, 6))
	}
}
