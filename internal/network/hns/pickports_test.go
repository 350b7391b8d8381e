package hns_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
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

// TestListenedPorts: a nat network does not map a port at which a program of the host listens, and picks none such. An
// endpoint that has a port keeps it, whoever listens afterwards.
func TestListenedPorts(t *testing.T) {
	every, loopback := netip.IPv4Unspecified(), netip.MustParseAddr("127.0.0.1")
	listening := []netplan.Listener{
		{Protocol: netplan.TCP, Addr: loopback, Port: 2375},
		{Protocol: netplan.TCP, Addr: every, Port: 61000},
	}
	config := newest()
	config.Listening = func() ([]netplan.Listener, error) { return listening, nil }

	h := host{Model: hns.New(config)}
	bridge := network("n", "10.1.0.0/24", "10.1.0.1")
	nat := h.ok(t, "HcnCreateNetwork", "", strings.Replace(bridge, "L2Bridge", "NAT", 1)).Object
	mapping := func(protocol, port int, more string) string {
		return fmt.Sprintf(`{"Policies":[{"Type":"PortMapping",
			"Settings":{"Protocol":%d,"InternalPort":80,"ExternalPort":%d%s}}]}`, protocol, port, more)
	}

	h.fails(t, wire.ESharingViolation, "HcnCreateEndpoint", nat, mapping(6, 2375, ""))
	h.fails(t, wire.ESharingViolation, "HcnCreateEndpoint", nat, mapping(6, 2375, `,"VIP":"127.0.0.1"`))
	h.ok(t, "HcnCreateEndpoint", nat, mapping(17, 2375, ""))
	h.ok(t, "HcnCreateEndpoint", nat, mapping(6, 2375, `,"VIP":"10.9.9.9"`))
	h.fails(t, wire.ESharingViolation, "HcnCreateEndpoint", nat, mapping(6, 61000, `,"VIP":"10.9.9.9"`))

	made := h.ok(t, "HcnCreateEndpoint", nat, mapping(6, 8080, "")).Object
	listening = append(listening, netplan.Listener{
		Protocol: netplan.TCP,
		Addr:     every,
		Port:     8080,
	})
	h.ok(t, "HcnModifyEndpoint", made, `{"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[
		{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":8081}}]}}`)
	h.fails(t, wire.ESharingViolation, "HcnModifyEndpoint", made, `{"ResourceType":"Policy","RequestType":"Add",
		"Settings":{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":2375}}]}}`)

	picked := h.ok(t, "HcnCreateEndpoint", nat, mapping(6, 0, "")).Object
	if got := h.ok(t, "HcnQueryEndpointProperties", picked).Text; !strings.Contains(got, `"ExternalPort":61001`) {
		t.Errorf("the picked port is not the first that nobody has: %s", got)
	}
}

// TestListenersOnce: what programs of the host listen on is asked for twice at most, when ports are picked and when all
// are checked, however many mappings a request has and whatever listens.
func TestListenersOnce(t *testing.T) {
	var listening []netplan.Listener
	for port := 49152; port < 65000; port++ {
		listening = append(listening, netplan.Listener{
			Protocol: netplan.TCP,
			Addr:     netip.IPv6Unspecified(),
			Port:     uint16(port),
		})
	}
	asked := 0
	config := newest()
	config.Listening = func() ([]netplan.Listener, error) {
		asked++
		return listening, nil
	}

	h := host{Model: hns.New(config)}
	nat := h.ok(t, "HcnCreateNetwork", "", strings.Replace(network("n", "10.1.0.0/24", "10.1.0.1"), "L2Bridge", "NAT", 1)).Object
	const one = `{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80}}`
	h.ok(t, "HcnCreateEndpoint", nat, `{"Policies":[`+strings.Repeat(one+",", 99)+one+`]}`)
	if asked > 2 {
		t.Errorf("it was asked for %d times", asked)
	}
}
