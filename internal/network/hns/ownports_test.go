package hns_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/netplan"
)

// A load balancer does not get the kubelet's port at the host's own address; at other addresses, other ports and by
// other protocols it does.
func TestOwnPortsAreSpared(t *testing.T) {
	m := hns.New(hns.Config{
		Adapters:  []string{"Ethernet"},
		Addresses: []netip.Addr{netip.MustParseAddr("10.213.0.12")},
		OwnPorts:  []uint16{10250},
	})

	call := func(t *testing.T, function, object, text string) string {
		t.Helper()
		made, err := m.Call(hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{text},
		})
		if err != nil {
			t.Fatal(err)
		}

		m.Commit()
		return made.Object
	}

	on := call(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1"))
	backend := call(t, "HcnCreateEndpoint", on, `{"Flags":1,"IpConfigurations":[{"IpAddress":"10.244.2.9"}]}`)
	const foreign = "203.0.113.7"
	for _, tt := range []struct {
		name     string
		vips     string
		protocol int
		port     int
		want     []string // VIPs that are carried out; nil: none, "" for all of the host's
	}{
		{"its own address", `"10.213.0.12"`, 6, 10250, nil},
		{"another besides", `"10.213.0.12","` + foreign + `"`, 6, 10250, []string{foreign}},
		{"another", `"` + foreign + `"`, 6, 10250, []string{foreign}},
		{"a node port", "", 6, 10250, nil},
		{"another node port", "", 6, 30080, []string{""}},
		{"another port", `"10.213.0.12"`, 6, 10251, []string{"10.213.0.12"}},
		{"UDP", `"10.213.0.12"`, 17, 10250, []string{"10.213.0.12"}},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			made := call(t, "HcnCreateLoadBalancer", "", fmt.Sprintf(`{"HostComputeEndpoints":[%q],"FrontendVIPs":[%s],
				"PortMappings":[{"Protocol":%d,"InternalPort":80,"ExternalPort":%d}]}`, backend, tt.vips, tt.protocol, tt.port))
			var got []string
			for _, lb := range m.Plan().LoadBalancers {
				got = append(got, vipsOf(lb)...)
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}

			said := m.Withheld()
			if spared := tt.want == nil || strings.Contains(tt.vips, ","); (len(said) == 1) != spared {
				t.Errorf("it says %q", said)
			}
			call(t, "HcnDeleteLoadBalancer", made, "")
			if said := m.Withheld(); len(said) > 0 {
				t.Errorf("afterwards it says %q", said)
			}
		})
	}
}

func vipsOf(lb netplan.LoadBalancer) []string {
	if len(lb.VIPs) == 0 {
		return []string{""}
	}
	var all []string
	for _, v := range lb.VIPs {
		all = append(all, v.String())
	}
	return all
}
