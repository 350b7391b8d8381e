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

// newest returns the newest Windows, as a host at 192.168.0.5.
func newest() hns.Config {
	cfg := config()
	cfg.Version, cfg.Addresses = wire.Version{Major: 16}, []netip.Addr{netip.MustParseAddr("192.168.0.5")}
	return cfg
}

func overlay(name, subnet, gateway string, vsid int) string {
	return fmt.Sprintf(`{"Name":%q,"Type":"Overlay","Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":%q,
		"Routes":[{"NextHop":%q,"DestinationPrefix":"0.0.0.0/0"}],"Policies":[{"Type":"VSID","Settings":{"IsolationId":%d}}]}]}],
		"SchemaVersion":{"Major":2,"Minor":0}}`, name, subnet, gateway, vsid)
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func compareNets() cmp.Option {
	return cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
}

// What flannel does on a Windows host (flannel 00014d0926, pkg/backend/vxlan/vxlan_windows.go): it makes the network,
// reads DrMacAddress back, and adds a RemoteSubnetRoute for each other host. Then kube-proxy makes remote endpoints.
func TestOverlay(t *testing.T) {
	h := host{Model: hns.New(newest())}
	h.network = h.ok(t, "HcnCreateNetwork", "", overlay("vxlan0", "10.244.3.0/24", "10.244.3.1", 4096)).Object
	var n wire.Network
	if err := json.Unmarshal([]byte(h.ok(t, "HcnQueryNetworkProperties", h.network).Text), &n); err != nil {
		t.Fatal(err)
	}

	router := ""
	for _, p := range n.Policies {
		if p.Type == wire.PolicyDrMacAddress {
			var s wire.DrMacAddressSetting
			if err := json.Unmarshal(p.Settings, &s); err != nil {
				t.Fatal(err)
			}
			router = s.Address
		}
	}

	if !strings.HasPrefix(router, "00-15-5D-") {
		t.Errorf("DrMacAddress %q", router)
	}
	remote := func(prefix, host string) string {
		return fmt.Sprintf(`{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"RemoteSubnetRoute","Settings":{
			"DestinationPrefix":%q,"IsolationId":4096,"ProviderAddress":%q,"DistributedRouterMacAddress":"00-15-5d-aa-bb-cc"}}]}}`, prefix, host)
	}

	h.ok(t, "HcnModifyNetwork", h.network, remote("10.244.4.0/24", "192.168.0.6"))
	h.ok(t, "HcnModifyNetwork", h.network, remote("10.244.4.0/24", "192.168.0.6")) // again is no harm
	h.fails(t, wire.PolicyAlreadyExists, "HcnModifyNetwork", h.network, remote("10.244.4.0/24", "192.168.0.7"))
	ep := h.ok(t, "HcnCreateEndpoint", h.network, `{"Flags":1,"MacAddress":"02-11-0a-f4-05-09","IpConfigurations":[{"IpAddress":"10.244.5.9"}],
		"Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.0.8"}}]}`).Object
	// behind the subnet's host
	h.ok(t, "HcnCreateEndpoint", h.network, `{"Flags":1,"IpConfigurations":[{"IpAddress":"10.244.4.9"}]}`)
	mac := strings.ToLower(strings.ReplaceAll(router, "-", ":"))

	want := netplan.Plan{
		Bridges: []netplan.Bridge{{
			ID:       h.network,
			Mode:     netplan.Overlay,
			Uplink:   "Ethernet",
			HostVIPs: true,
			Gateways: []netip.Prefix{prefix("10.244.3.1/24")},
			Overlay: &netplan.VXLAN{
				VNI:  4096,
				Port: 4789,
				VTEP: netip.MustParseAddr("192.168.0.5"),
				MAC:  mac,
			},
		}},
		Peers: []netplan.Peer{
			{
				ID:     ep,
				Bridge: h.network,
				Subnet: prefix("10.244.5.9/32"),
				VTEP:   netip.MustParseAddr("192.168.0.8"),
				MAC:    "02:11:0a:f4:05:09",
			},
			{
				ID:     h.network + "/10.244.4.0/24",
				Bridge: h.network,
				Subnet: prefix("10.244.4.0/24"),
				VTEP:   netip.MustParseAddr("192.168.0.6"),
				MAC:    "00:15:5d:aa:bb:cc",
			},
		},
	}

	want.Normalize()
	if diff := cmp.Diff(want, h.Plan(), compareNets(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}

	h.ok(t, "HcnModifyNetwork", h.network,
		strings.Replace(remote("10.244.4.0/24", "192.168.0.6"), `"Add"`, `"Remove"`, 1))
	h.ok(t, "HcnDeleteEndpoint", ep)
	if got := h.Plan().Peers; len(got) != 0 {
		t.Errorf("peers that are gone: %+v", got)
	}
}

func TestNetworkTypes(t *testing.T) {
	typed := func(kind, subnet, gateway string) string {
		return strings.Replace(network("n", subnet, gateway), "L2Bridge", kind, 1)
	}

	tests := []struct {
		name, settings string
		version        wire.Version
		want           wire.HRESULT
		mode           netplan.Mode
		gateways       int
	}{
		{name: "l2bridge-any-case", settings: typed("l2bridge", "10.1.0.0/24", "10.1.0.2"), mode: netplan.L2Bridge},
		{name: "l2tunnel", settings: typed("L2Tunnel", "10.1.0.0/24", "10.1.0.2"), mode: netplan.L2Tunnel},
		{name: "transparent", settings: typed("Transparent", "10.1.0.0/24", "10.1.0.2"), mode: netplan.Transparent},
		{name: "transparent-dhcp", settings: `{"Name":"n","Type":"Transparent"}`, mode: netplan.Transparent},
		{name: "nat", settings: typed("NAT", "10.1.0.0/24", "10.1.0.1"), mode: netplan.WinNAT, gateways: 1},
		{name: "nat-is-the-zero", settings: typed("", "10.1.0.0/24", "10.1.0.1"), mode: netplan.WinNAT, gateways: 1},
		{name: "nat-without-subnet", settings: `{"Name":"n","Type":"NAT"}`, mode: netplan.WinNAT, gateways: 1},
		{
			name:     "nat-without-next-hop",
			settings: `{"Name":"n","Type":"NAT","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.1.0.0/24"}]}]}`,
			want:     wire.InvalidNetwork,
		},
		{name: "ics", settings: typed("ICS", "10.1.0.0/24", "10.1.0.2"), want: wire.ICSDisabled},
		{name: "internal", settings: typed("Internal", "10.1.0.0/24", "10.1.0.2"), want: wire.InvalidNetworkType},
		{name: "overlay", settings: overlay("n", "10.1.0.0/24", "10.1.0.1", 4096), mode: netplan.Overlay, gateways: 1},
		{
			name:     "overlay-vsid-of-a-vlan",
			settings: overlay("n", "10.1.0.0/24", "10.1.0.1", 4095),
			want:     wire.EInvalidArg,
		},
		{
			name:     "overlay-vsid-too-large",
			settings: overlay("n", "10.1.0.0/24", "10.1.0.1", 1<<24),
			want:     wire.EInvalidArg,
		},
		{name: "overlay-without-vsid", settings: typed("Overlay", "10.1.0.0/24", "10.1.0.1"), want: wire.EInvalidArg},
		{name: "overlay-ipv6", settings: overlay("n", "fd00::/64", "fd00::1", 4096), want: wire.InvalidNetwork},
		{name: "dual-stack", settings: typed("L2Bridge", "fd00::/64", "fd00::2"), mode: netplan.L2Bridge},
		{
			name:     "dual-stack-2019",
			settings: typed("L2Bridge", "fd00::/64", "fd00::2"),
			version:  wire.Version{Major: 9, Minor: 5},
			want:     wire.InvalidNetwork,
		},
		{
			name:     "vlan",
			settings: strings.Replace(overlay("n", "10.1.0.0/24", "10.1.0.2", 100), "Overlay", "Transparent", 1),
			mode:     netplan.Transparent,
		},
		{
			name: "vlan-too-large",
			settings: strings.NewReplacer("Overlay", "L2Bridge", "VSID",
				"VLAN").Replace(overlay("n", "10.1.0.0/24", "10.1.0.2", 4095)),
			want: wire.EInvalidArg,
		},
		{
			name:     "pool-backwards",
			settings: `{"Type":"NAT","MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-00-00-02","EndMacAddress":"00-15-5D-00-00-01"}]}}`,
			want:     wire.InvalidNetwork,
		},
		{
			name:     "policy-unknown",
			settings: `{"Type":"NAT","Policies":[{"Type":"Teleport"}]}`,
			want:     wire.InvalidPolicyType,
		},
		{
			name:     "remote-subnet-on-nat",
			settings: `{"Type":"NAT","Policies":[{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.9.0.0/24"}}]}`,
			want:     wire.InvalidPolicy,
		},
		{
			name:     "adapter-by-alias",
			settings: `{"Type":"Transparent","Policies":[{"Type":"InterfaceConstraint","Settings":{"InterfaceAlias":"ethernet"}}]}`,
			mode:     netplan.Transparent,
		},
		{
			name:     "virtual-adapter",
			settings: `{"Type":"Transparent","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"vEthernet (Ethernet)"}}]}`,
			mode:     netplan.Transparent,
		},
		{
			name:     "adapter-by-index",
			settings: `{"Type":"Transparent","Policies":[{"Type":"InterfaceConstraint","Settings":{"InterfaceIndex":9}}]}`,
			want:     wire.AdapterNotFound,
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := newest()
			if tt.version.Major != 0 {
				cfg.Version = tt.version
			}
			h := host{Model: hns.New(cfg)}
			if tt.want != 0 {
				h.fails(t, tt.want, "HcnCreateNetwork", "", tt.settings)
				return
			}

			h.ok(t, "HcnCreateNetwork", "", tt.settings)
			if got := h.Plan().Bridges; len(got) != 1 || got[0].Mode != tt.mode || len(got[0].Gateways) != tt.gateways {
				t.Errorf("bridges %+v", got)
			}
		})
	}
}

// Each build has its features, and the profile Modern has all of them.
func TestFeatures(t *testing.T) {
	policy := func(p string) string {
		return `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[` + p + `]}}`
	}
	tier := policy(`{"Type":"TierAcl","Settings":{"Name":"t","Direction":"In","Order":1}}`)
	set := policy(`{"Type":"SetPolicy","Settings":{"Id":"s","PolicyType":"IPSET","Values":"10.0.0.1"}}`)

	tests := []struct {
		name         string
		major, minor uint32
		function     string
		text         string
		has          bool
	}{
		{"tier-acl-2022", 13, 2, "HcnModifyEndpoint", tier, false},
		{"tier-acl-23h2", 15, 5, "HcnModifyEndpoint", tier, true},
		{"sets-2004", 11, 11, "HcnModifyNetwork", set, false},
		{"sets-2022", 13, 2, "HcnModifyNetwork", set, true},
		{"modify-balancer-15.4", 15, 4, "HcnModifyLoadBalancer", "", false},
		{"modify-balancer-15.5", 15, 5, "HcnModifyLoadBalancer", "", true},
	}

	for _, tt := range tests {
		for _, profile := range []hns.Profile{hns.Faithful, hns.Modern} {
			t.Run(tt.name+"-"+string(profile), func(t *testing.T) {
				cfg := newest()
				cfg.Version, cfg.Profile = wire.Version{Major: tt.major, Minor: tt.minor}, profile
				h := host{Model: hns.New(cfg)}
				h.network = h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1")).Object
				object, text := h.network, tt.text
				ep := h.endpoint(t, "10.244.1.5")
				switch tt.function {
				case "HcnModifyEndpoint":
					object = ep
				case "HcnModifyLoadBalancer":
					text = balancer(ep)
					object = h.ok(t, "HcnCreateLoadBalancer", "", text).Object
				}

				_, err := h.Call(hns.Request{
					Function: tt.function,
					Object:   object,
					Text:     []string{text},
				})
				if want := tt.has || profile == hns.Modern; (err == nil) != want {
					t.Errorf("%v; want success %v", err, want)
				}
			})
		}
	}
}

func balancer(endpoints ...string) string {
	list, _ := json.Marshal(endpoints)
	return fmt.Sprintf(
		`{"HostComputeEndpoints":%s,"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80,"DistributionType":2}]}`, list)
}

// A NAT network with the flags EnableDnsProxy and EnableDhcpServer answers DNS and DHCP at its gateway; the flags are
// kept elsewhere.
func TestGatewayFlags(t *testing.T) {
	for kind, nat := range map[string]bool{"NAT": true, "L2Bridge": false} {
		h := host{Model: hns.New(newest())}
		for flags := range 4 {
			settings := strings.Replace(network("n", "10.1.0.0/24", "10.1.0.1"), "L2Bridge", kind, 1)
			settings = strings.Replace(settings, `"Type"`, fmt.Sprintf(`"Flags":%d,"Type"`, flags), 1)
			id := h.ok(t, "HcnCreateNetwork", "", settings).Object
			b := h.Plan().Bridges[0]
			if b.DNSProxy != (nat && flags&wire.NetworkEnableDNSProxy != 0) ||
				b.DHCP != (nat && flags&wire.NetworkEnableDHCPServer != 0) {
				t.Errorf("%s with the flags %d: DNS at the gateway %t, DHCP %t", kind, flags, b.DNSProxy, b.DHCP)
			}

			if text := h.ok(t, "HcnQueryNetworkProperties", id).Text; flags != 0 &&
				!strings.Contains(text, fmt.Sprintf(`"Flags":%d`, flags)) {
				t.Errorf("flags %d are not kept: %s", flags, text)
			}
			h.ok(t, "HcnDeleteNetwork", id)
		}
	}
}

// Two overlays may have one subnet if their VSIDs differ; the second is apart. A VSID is one network's alone.
func TestOverlaysWithOneSubnet(t *testing.T) {
	h := host{Model: hns.New(newest())}
	first := h.ok(t, "HcnCreateNetwork", "", overlay("a", "10.244.3.0/24", "10.244.3.1", 4096)).Object
	second := h.ok(t, "HcnCreateNetwork", "", overlay("b", "10.244.0.0/16", "10.244.0.1", 4097)).Object
	third := h.ok(t, "HcnCreateNetwork", "", overlay("c", "10.244.3.0/24", "10.244.3.1", 4098)).Object
	apart := func() map[string]uint16 {
		got := map[string]uint16{}
		for _, b := range h.Plan().Bridges {
			got[b.ID] = b.Apart
		}
		return got
	}

	if diff := cmp.Diff(map[string]uint16{first: 0, second: 1, third: 2}, apart()); diff != "" {
		t.Errorf("networks apart (-want +got):\n%s", diff)
	}

	h.fails(t, wire.InvalidNetwork, "HcnCreateNetwork", "", overlay("d", "10.244.3.0/24", "10.244.3.1", 4096))
	h.fails(t, wire.InvalidNetwork, "HcnCreateNetwork", "", overlay("d", "10.245.3.0/24", "10.245.3.1", 4097))
	h.fails(t, wire.InvalidNetwork, "HcnCreateNetwork", "", network("d", "10.244.3.0/24", "10.244.3.2"))

	endpoint := func(net, policies string) string {
		return h.ok(t, "HcnCreateEndpoint", net, `{"IpConfigurations":[{"IpAddress":"10.244.3.9","PrefixLength":24}],
			"Policies":[`+policies+`]}`).Object
	}

	here, there := endpoint(first, ""), endpoint(second, `{"Type":"OutBoundNAT","Settings":{}}`)
	mapped := `{"IpConfigurations":[{"IpAddress":"10.244.3.10","PrefixLength":24}],"Policies":[{"Type":%q,"Settings":%s}]}`
	h.fails(t, wire.RequestUnsupported, "HcnCreateEndpoint", second,
		fmt.Sprintf(mapped, "PortMapping", `{"Protocol":6,"InternalPort":80,"ExternalPort":8080}`))
	h.fails(t, wire.RequestUnsupported, "HcnCreateEndpoint", second,
		fmt.Sprintf(mapped, "OutBoundNAT", `{"VirtualIP":"192.168.0.77"}`))
	balancer := func(vip string, backends ...string) string {
		list, _ := json.Marshal(backends)
		return fmt.Sprintf(`{"HostComputeEndpoints":%s,"FrontendVIPs":[%q],
			"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80}],"SchemaVersion":{"Major":2,"Minor":0}}`, list, vip)
	}

	h.fails(t, wire.EInvalidArg, "HcnCreateLoadBalancer", "", balancer("10.96.0.1", here, there))
	own := h.ok(t, "HcnCreateLoadBalancer", "", balancer("10.96.0.1", here)).Object
	apartLB := h.ok(t, "HcnCreateLoadBalancer", "", balancer("10.96.0.2", there)).Object
	of := map[string]string{}
	for _, lb := range h.Plan().LoadBalancers {
		of[lb.ID] = lb.Bridge
	}

	if diff := cmp.Diff(map[string]string{own: "", apartLB: second}, of); diff != "" {
		t.Errorf("networks of load balancers (-want +got):\n%s", diff)
	}

	// It stays as it is when the service starts again, and the number is free when the network is gone.
	saved, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}
	if h.Model, err = hns.Load(newest(), saved); err != nil {
		t.Fatal(err)
	}

	h.ok(t, "HcnDeleteNetwork", second)
	fourth := h.ok(t, "HcnCreateNetwork", "", overlay("d", "10.244.3.0/25", "10.244.3.1", 4099)).Object
	if diff := cmp.Diff(map[string]uint16{first: 0, third: 2, fourth: 1}, apart()); diff != "" {
		t.Errorf("networks apart after one is deleted (-want +got):\n%s", diff)
	}
}

// A network has no subnet that hosts cannot have.
func TestSubnetsOfNoHosts(t *testing.T) {
	good := host{Model: hns.New(newest())}
	good.ok(t, "HcnCreateNetwork", "", network("n", "10.1.0.0/24", "10.1.0.1"))
	for subnet, gateway := range map[string]string{
		"127.0.0.0/8": "127.0.0.1", "224.0.0.0/4": "224.0.0.1", "169.254.0.0/16": "169.254.0.1",
		"fe80::/10": "fe80::1", "ff00::/8": "ff00::1", "::/64": "::1", "::ffff:1.2.3.0/120": "::ffff:1.2.3.1",
	} {
		h := host{Model: hns.New(newest())}
		_, err := h.Call(hns.Request{Function: "HcnCreateNetwork", Text: []string{network("n", subnet, gateway)}})
		if err == nil {
			t.Errorf("there is a network of %s", subnet)
		}
	}
}

// TestFirstAndLastAddress asks for an endpoint at the ends of subnets. One of two addresses, or of one, keeps none
// back.
func TestFirstAndLastAddress(t *testing.T) {
	for _, c := range []struct {
		subnet, addr string
		fails        bool
	}{
		{"10.1.0.0/24", "10.1.0.0", true},
		{"10.1.0.0/24", "10.1.0.255", true},
		{"10.1.0.0/24", "10.1.0.2", false},
		{"10.1.0.0/30", "10.1.0.3", true},
		{"10.1.0.0/31", "10.1.0.0", false},
	} {
		h := host{Model: hns.New(newest())}
		n := h.ok(t, "HcnCreateNetwork", "", network("n", c.subnet, "10.1.0.1")).Object
		_, err := h.Call(hns.Request{
			Function: "HcnCreateEndpoint", Object: n, Text: []string{fmt.Sprintf(`{"IpConfigurations":[{"IpAddress":%q}]}`, c.addr)},
		})
		if (err != nil) != c.fails {
			t.Errorf("%s in %s: %v", c.addr, c.subnet, err)
		}
	}
}
