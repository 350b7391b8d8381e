package hns_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/hns/wire"
)

const machine = "6B29FC40-CA47-1067-B31D-00DD010662DA"

// guest returns a host with a guest network service.
func guest(t *testing.T) (host, string) {
	t.Helper()
	h := host{Model: hns.New(newest())}
	h.network = h.ok(t, "HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1")).Object
	made := h.ok(t, "HcnCreateGuestNetworkService", "", `{"VirtualMachineId":"`+machine+`","MirrorHostNetworking":true,"Flags":3,
		"GnsRpcServerInformation":{"EndpointType":"LRpc","ObjectUuid":"`+machine+`"},"SchemaVersion":{"Major":2,"Minor":0}}`)
	return h, made.Object
}

func free(hns.Reservation) error { return nil }

func (h host) reserve(t *testing.T, want wire.HRESULT, service, settings string) hns.Reservation {
	t.Helper()
	res, err := h.Reserve(service, settings, free)
	if (want == wire.OK && err != nil) || (want != wire.OK && !errors.Is(err, &wire.Error{Code: want})) {
		t.Errorf("reserve %s: %v, want 0x%08x", settings, err, uint32(want))
	}
	return res
}

func TestGuestStates(t *testing.T) {
	h, id := guest(t)
	h.ok(t, "HcnModifyGuestNetworkService", id,
		`{"ResourceType":"State","RequestType":"Update","Settings":{"State":"Bootstrapping"}}`)
	h.fails(t, wire.EInvalidArg, "HcnModifyGuestNetworkService", id,
		`{"ResourceType":"State","RequestType":"Update","Settings":{"State":"Sleepy"}}`)
	h.fails(t, wire.RequestUnsupported, "HcnModifyGuestNetworkService", id,
		`{"ResourceType":"Port","RequestType":"Add"}`)
	h.fails(t, wire.EInvalidArg, "HcnCreateGuestNetworkService", "", `{"VirtualMachineId":"mine"}`)

	text := h.ok(t, "HcnQueryGuestNetworkServiceProperties", id).Text
	want := fmt.Sprintf(
		`{"ID":%q,"VirtualMachineId":%q,"MirrorHostNetworking":true,"GnsRpcServerInformation":{"EndpointType":"LRpc",`+
			`"ObjectUuid":%q},"Flags":3,"State":"Bootstrapping","SchemaVersion":{"Major":2,"Minor":0}}`, id, machine, machine)
	if text != want {
		t.Errorf("properties %s, want %s", text, want)
	}

	saved, err := h.Save()
	if err != nil {
		t.Fatal(err)
	}

	again, err := hns.Load(newest(), saved)
	if err != nil {
		t.Fatal(err)
	}
	if got := (host{Model: again}).ok(t, "HcnQueryGuestNetworkServiceProperties", id).Text; got != want {
		t.Errorf("after a restart %s", got)
	}
}

func TestReservePort(t *testing.T) {
	h, id := guest(t)
	const tcp, udp, both = `"Protocol":1,"Access":1`, `"Protocol":2,"Access":1`, `"Protocol":3,"Access":1`
	first := h.reserve(t, wire.OK, id, `{`+tcp+`,"Port":8080}`)
	if first.Machine != machine || !first.TCP || first.UDP {
		t.Errorf("reservation %+v", first)
	}

	h.reserve(t, wire.PortAlreadyExists, id, `{`+tcp+`,"Port":8080}`)
	h.reserve(t, wire.PortAlreadyExists, id, `{`+both+`,"Port":8080}`)
	h.reserve(t, wire.PortAlreadyExists, id, `{"Protocol":1,"Access":2,"Port":8080}`)
	h.reserve(t, wire.OK, id, `{`+udp+`,"Port":8080}`)
	h.reserve(t, wire.OK, id, `{"Protocol":2,"Access":2,"Port":5353}`)
	h.reserve(t, wire.OK, id, `{"Protocol":2,"Access":2,"Port":5353}`)
	h.reserve(t, wire.PortAlreadyExists, id, `{`+udp+`,"Port":5353}`)

	for _, bad := range []string{
		`{"Access":1,"Port":1}`, `{"Protocol":4,"Access":1,"Port":1}`,
		`{"Protocol":1,"Port":1}`, `{` + tcp + `}`,
	} {
		h.reserve(t, wire.EInvalidArg, id, bad)
	}

	h.reserve(t, wire.InvalidJSON, id, `{`)
	h.reserve(t, wire.ENotFound, machine, `{`+tcp+`,"Port":1}`)
	h.Release(first.ID)
	h.reserve(t, wire.OK, id, `{`+tcp+`,"Port":8080}`)
	busy := errors.New("bound")
	if _, err := h.Reserve(id, `{`+tcp+`,"Port":9090}`, func(hns.Reservation) error { return busy }); !errors.Is(err,
		&wire.Error{Code: wire.PortAlreadyExists}) {
		t.Errorf("a port that a program has: %v", err)
	}

	h.reserve(t, wire.OK, id, `{`+tcp+`,"Port":9090}`)
}

// A node port and a reservation exclude each other; virtual addresses other than the host's have ports of their own.
func TestReservedNodePorts(t *testing.T) {
	h, id := guest(t)
	ep := h.ok(t, "HcnCreateEndpoint", h.network, `{"IpConfigurations":[{"IpAddress":"10.244.1.9"}]}`).Object
	balancer := func(vips string, port int) string {
		return fmt.Sprintf(
			`{"HostComputeEndpoints":[%q],"FrontendVIPs":[%s],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":%d}]}`, ep, vips, port)
	}

	h.reserve(t, wire.OK, id, `{"Protocol":1,"Access":1,"Port":30080}`)
	h.fails(t, wire.PortAlreadyExists, "HcnCreateLoadBalancer", "", balancer("", 30080))
	h.fails(t, wire.PortAlreadyExists, "HcnCreateLoadBalancer", "", balancer(`"192.168.0.5"`, 30080))
	h.fails(t, wire.PortAlreadyExists, "HcnCreateEndpoint", h.network,
		`{"Policies":[{"Type":"PortMapping","Settings":{"Protocol":6,"InternalPort":80,"ExternalPort":30080}}]}`)
	h.ok(t, "HcnCreateLoadBalancer", "", balancer(`"10.96.0.7"`, 30080))
	h.ok(t, "HcnCreateLoadBalancer", "", balancer("", 30081))
	h.reserve(t, wire.PortAlreadyExists, id, `{"Protocol":3,"Access":1,"Port":30081}`)
	h.reserve(t, wire.OK, id, `{"Protocol":2,"Access":1,"Port":30081}`)
}

func TestReserveRange(t *testing.T) {
	h, id := guest(t)
	ep := h.ok(t, "HcnCreateEndpoint", h.network, `{"IpConfigurations":[{"IpAddress":"10.244.1.9"}]}`).Object
	h.ok(t, "HcnCreateLoadBalancer", "",
		fmt.Sprintf(
			`{"HostComputeEndpoints":[%q],"PortMappings":[{"Protocol":17,"InternalPort":53,"ExternalPort":49200}]}`, ep))

	h.reserve(t, wire.OK, id, `{"Protocol":1,"Access":1,"Port":50000}`)
	var tried []uint16
	res, err := h.Reserve(id, `{"PortCount":4095}`, func(res hns.Reservation) error {
		tried = append(tried, res.First)
		if len(tried) == 1 {
			return errors.New("a program has one of them")
		}
		return nil
	})
	if err != nil || !slices.Equal(tried, []uint16{50001, 54097}) || res.First != 54097 || res.Last != 54097+4095 ||
		!res.TCP || !res.UDP {
		t.Errorf("%+v after %v: %v", res, tried, err)
	}

	h.reserve(t, wire.OK, id, `{"PortCount":4095}`) // the range that the program had
	h.reserve(t, wire.OK, id, `{"PortCount":3999}`) // behind
	h.reserve(t, wire.PortAlreadyExists, id, `{"PortCount":4095}`)
	h.reserve(t, wire.PortAlreadyExists, id, `{"PortCount":65535}`)
	if orphans := h.Orphans(); len(orphans) != 0 {
		t.Errorf("orphans %v", orphans)
	}

	h.ok(t, "HcnDeleteGuestNetworkService", id)
	if orphans := h.Orphans(); len(orphans) != 4 {
		t.Errorf("%d reservations of a service that is gone, want 4", len(orphans))
	}
}

func TestEvents(t *testing.T) {
	h, id := guest(t)
	told := func(function, object string, text ...string) string {
		t.Helper()
		if _, err := h.Call(hns.Request{
			Function: function,
			Object:   object,
			Text:     text,
		}); err != nil {
			t.Fatalf("%s: %v", function, err)
		}

		before, after := h.Events()
		h.Commit()
		said := ""
		for _, e := range slices.Concat(before, after) {
			said += fmt.Sprintf("%x of %q: %s\n", uint32(e.Type), e.Of, e.Text)
		}

		return said
	}

	note := func(kind int, of, object string) string {
		return fmt.Sprintf("%x of %q: {\"ID\":%q,\"Flags\":0}\n", kind, of, object)
	}

	ns := h.ok(t, "HcnCreateNamespace", "", `{}`).Object
	ep := h.ok(t, "HcnCreateEndpoint", h.network, `{"IpConfigurations":[{"IpAddress":"10.244.1.9"}]}`).Object
	attach := `{"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":"` + ep + `"}}`
	for _, c := range []struct{ got, want string }{
		{told("HcnModifyNamespace", ns, attach), note(0x9, h.network, ep)},
		{told("HcnModifyNamespace", ns, attach), ""},
		{told("HcnModifyGuestNetworkService", id,
			`{"ResourceType":"State","RequestType":"Update","Settings":{"State":"Paused"}}`), note(0x11, id, id)},
		{told("HcnDeleteNamespace", ns), note(0x10, h.network, ep) + note(0x6, "", ns)},
		{told("HcnQueryEndpointProperties", ep), ""},
		{told("HcnDeleteNetwork", h.network), note(0x3, "", h.network) + note(0x4, "", h.network)},
		{told("HcnDeleteGuestNetworkService", id), note(0x8, "", id)},
	} {
		if c.got != c.want {
			t.Errorf("told\n%swant\n%s", c.got, c.want)
		}
	}

	said := told("HcnCreateNetwork", "", network("cbr1", "10.244.2.0/24", "10.244.2.1"))
	made := h.ok(t, "HcnEnumerateNetworks", "").Listed[0]
	if want := note(0x1, "", made) + note(0x2, "", made); said != want {
		t.Errorf("told\n%swant\n%s", said, want)
	}
}

func FuzzReserve(f *testing.F) {
	f.Add(`{"Protocol":3,"Access":1,"Port":80}`, `{"PortCount":100}`)

	f.Fuzz(func(t *testing.T, one, two string) {
		h, id := guest(t)
		for _, settings := range []string{one, two, one} {
			res, err := h.Reserve(id, settings, free)
			if bad := (*wire.Error)(nil); err != nil && !errors.As(err, &bad) {
				t.Fatalf("an error without a code: %v", err)
			}
			if err == nil && (res.First == 0 || res.Last < res.First) {
				t.Fatalf("%s gives %+v", settings, res)
			}
		}

		all := h.Reservations()
		for i, a := range all {
			for _, b := range all[i+1:] {
				if a.Last >= b.First && ((a.TCP && b.TCP) || (a.UDP && b.UDP)) && (!a.Shared || !b.Shared) {
					t.Fatalf("%+v and %+v at the same time", a, b)
				}
			}
		}
	})
}
