package show

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns/wire"
)

func objects() Objects {
	o := Objects{
		Networks: []wire.Network{{
			ID:   "AAAA0000-1111",
			Name: "vxlan0",
			Type: wire.NetworkOverlay,
			Policies: []wire.Policy{
				{
					Type: wire.PolicyRemoteSubnetRoute,
					Settings: json.RawMessage(
						`{"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"10.213.0.12"}`),
				},
				{Type: wire.PolicyDrMacAddress, Settings: json.RawMessage(`{"Address":"00-15-5D-00-00-01"}`)},
			},
			Ipams: []wire.Ipam{{Subnets: []wire.Subnet{{
				IpAddressPrefix: "10.244.0.0/24",
				Policies: []wire.Policy{{
					Type:     wire.PolicyVSID,
					Settings: json.RawMessage(`{"IsolationId":4096}`),
				}},
			}}}},
		}},
		Endpoints: []wire.Endpoint{
			{
				ID:                 "DDDD0000-1111",
				Flags:              wire.EndpointRemote,
				HostComputeNetwork: "AAAA0000-1111",
				IpConfigurations:   []wire.IpConfig{{IpAddress: "10.244.1.9"}},
				Policies: []wire.Policy{{
					Type:     wire.PolicyProviderAddress,
					Settings: json.RawMessage(`{"ProviderAddress":"10.213.0.12"}`),
				}},
			},
			{
				ID:                   "BBBB0000-1111",
				Name:                 "0123456789abcdef0123456789abcdef_vxlan0",
				HostComputeNetwork:   "AAAA0000-1111",
				HostComputeNamespace: "CCCC0000-1111",
				IpConfigurations:     []wire.IpConfig{{IpAddress: "10.244.0.5"}},
			},
		},
		Namespaces: []wire.Namespace{{
			ID:          "CCCC0000-1111",
			Type:        wire.NamespaceHost,
			NamespaceId: 7,
			Resources: []wire.NamespaceResource{{
				Type: wire.ResourceEndpoint,
				Data: wire.ResourceData{ID: "BBBB0000-1111"},
			}},
		}},
		LoadBalancers: []wire.LoadBalancer{{
			ID:                   "EEEE0000-1111",
			Flags:                wire.LoadBalancerDSR,
			HostComputeEndpoints: []string{"BBBB0000-1111", "DDDD0000-1111"},
			PortMappings: []wire.PortMapping{{
				Protocol:         17,
				InternalPort:     8081,
				ExternalPort:     30090,
				DistributionType: wire.DistributionSourceIP,
			}},
		}},
	}

	o.sort()
	return o
}

func TestTables(t *testing.T) {
	var b strings.Builder
	if err := objects().Print(&b, []string{"network", "endpoints", "namespace", "LoadBalancer"}); err != nil {
		t.Fatal(err)
	}

	want := `NETWORK   NAME    TYPE     SUBNETS        POLICIES
AAAA0000  vxlan0  Overlay  10.244.0.0/24  VSID 4096, 10.244.1.0/24 via 10.213.0.12, DrMacAddress 00-15-5D-00-00-01

ENDPOINT  ADDRESS     MAC  NETWORK  WHERE                   NAME
BBBB0000  10.244.0.5       vxlan0   namespace CCCC0000      0123456789ab…bcdef_vxlan0
DDDD0000  10.244.1.9       vxlan0   remote, on 10.213.0.12  

NAMESPACE  TYPE  COMPARTMENT  ENDPOINTS  CONTAINERS
CCCC0000   Host  7            BBBB0000   

LOADBALANCER  ADDRESS  PORT       TO    BACKENDS               FLAGS
EEEE0000      every    30090/UDP  8081  10.244.0.5,10.244.1.9  DSR,affinity
`

	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestFind(t *testing.T) {
	for what, want := range map[string]int{
		"vxlan0": 1, "10.244.0.5": 1, "eeee": 1, "{BBBB0000-1111}": 1,
		"nothing": 0,
	} {
		if got := len(objects().Find(what)); got != want {
			t.Errorf("find(%q) has %d objects, want %d", what, got, want)
		}
	}
}
