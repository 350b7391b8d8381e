package hns_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

// On a nat network a mapping without a port of the host gets one that is free, as `docker run -p 80` asks for it: not
// that of another mapping, of the endpoint itself or of another one, and again one whose endpoint has gone. On other
// networks it is refused.
func TestPickedPorts(t *testing.T) {
	h := host{Model: hns.New(newest())}
	net := h.ok(t, "HcnCreateNetwork", "", strings.Replace(network("n", "10.1.0.0/24", "10.1.0.1"), "L2Bridge", "NAT", 1)).Object
	port := regexp.MustCompile(`"ExternalPort":(\d+)`)
	mapped := func(settings ...string) (id string, ports []string) {
		t.Helper()
		var policies []string
		for _, s := range settings {
			policies = append(policies, fmt.Sprintf(`{"Type":"PortMapping","Settings":{%s}}`, s))
		}

		id = h.ok(t, "HcnCreateEndpoint", net, `{"Policies":[`+strings.Join(policies, ",")+`]}`).Object
		for _, m := range port.FindAllStringSubmatch(h.ok(t, "HcnQueryEndpointProperties", id).Text, -1) {
			ports = append(ports, m[1])
		}

		return id, ports
	}

	const any = `"Protocol":6,"InternalPort":80`
	is := func(got []string, want string) {
		t.Helper()
		if strings.Join(got, " ") != want {
			t.Errorf("the ports are %v, want %s", got, want)
		}
	}

	first, ports := mapped(any, `"Protocol":6,"InternalPort":81,"externalPort":0`, `"Protocol":6,"InternalPort":82,"ExternalPort":61002`, `"Protocol":17,"InternalPort":80`)
	is(ports, "61000 61001 61002 61000")
	_, ports = mapped(any)
	is(ports, "61003")
	h.ok(t, "HcnDeleteEndpoint", first)
	_, ports = mapped(any)
	is(ports, "61000")

	h.fails(t, wire.InvalidPolicy, "HcnCreateEndpoint", net, `{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":1,"InternalPort":80}}]}`)
	h.fails(t, wire.InvalidPolicy, "HcnCreateEndpoint", net, `{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6}}]}`)
	bridge := h.ok(t, "HcnCreateNetwork", "", network("b", "10.2.0.0/24", "10.2.0.1")).Object
	h.fails(t, wire.InvalidPolicy, "HcnCreateEndpoint", bridge, `{"Policies":[{"Type":"PortMapping","Settings":{`+any+`}}]}`)
}

// When every port of the dynamic range has a mapping, a further one is refused.
func TestNoPortToPick(t *testing.T) {
	h := host{Model: hns.New(newest())}
	net := h.ok(t, "HcnCreateNetwork", "", strings.Replace(network("n", "10.1.0.0/24", "10.1.0.1"), "L2Bridge", "NAT", 1)).Object
	var policies []string
	for port := 49152; port <= 65535; port++ {
		policies = append(policies, fmt.Sprintf(`{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":%d}}`, port))
	}
	h.ok(t, "HcnCreateEndpoint", net, `{"Policies":[`+strings.Join(policies, ",")+`]}`)
	h.fails(t, wire.PortAlreadyExists, "HcnCreateEndpoint", net,
		`{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80}}]}`)
}
