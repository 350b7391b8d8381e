package hns_test

import (
	"fmt"
	"testing"

	"mullion.dev/mullion/internal/network/hns"
)

// atScale returns a host with as many objects as kube-proxy makes for so many Services, each with four remote
// endpoints.
func atScale(tb testing.TB, services int) (*hns.Model, []string) {
	tb.Helper()
	m := hns.New(newest())
	call := func(function, object, text string) string {
		r, err := m.Call(hns.Request{
			Function: function,
			Object:   object,
			Text:     []string{text},
		})
		if err != nil {
			tb.Fatal(err)
		}
		m.Commit()
		return r.Object
	}

	net := call("HcnCreateNetwork", "", network("cbr0", "10.244.1.0/24", "10.244.1.1"))
	var eps []string
	for i := range services * 4 {
		eps = append(eps, call("HcnCreateEndpoint", net,
			fmt.Sprintf(`{"Flags":1,"IpConfigurations":[{"IpAddress":"10.%d.%d.%d"}]}`, 64+i>>16, i>>8&255, i&255)))
	}

	for i := range services {
		call("HcnCreateLoadBalancer", "", service(i, eps))
	}

	return m, eps
}

func service(i int, eps []string) string {
	return fmt.Sprintf(`{"HostComputeEndpoints":[%q,%q,%q,%q],"FrontendVIPs":["10.96.%d.%d"],"Flags":1,"SchemaVersion":{"Major":2,"Minor":0},
		"PortMappings":[{"Protocol":6,"InternalPort":8080,"ExternalPort":80}]}`,
		eps[4*i%len(eps)], eps[(4*i+1)%len(eps)], eps[(4*i+2)%len(eps)], eps[(4*i+3)%len(eps)], i>>8&255, i&255)
}

// BenchmarkModel measures calls on a host with 5,000 Services and 20,000 endpoints.
func BenchmarkModel(b *testing.B) {
	m, eps := atScale(b, 5000)
	call := func(b *testing.B, r hns.Request) hns.Reply {
		b.Helper()
		reply, err := m.Call(r)
		if err != nil {
			b.Fatal(err)
		}

		if m.Changed() {
			m.Change()
			if _, err := m.Records(); err != nil {
				b.Fatal(err)
			}
			m.Commit()
		}

		return reply
	}

	b.Run("create-and-delete-balancer", func(b *testing.B) {
		for b.Loop() {
			made := call(b, hns.Request{Function: "HcnCreateLoadBalancer", Text: []string{service(65000, eps)}})
			call(b, hns.Request{Function: "HcnDeleteLoadBalancer", Object: made.Object})
		}
	})

	b.Run("query-endpoint", func(b *testing.B) {
		for b.Loop() {
			call(b, hns.Request{Function: "HcnQueryEndpointProperties", Object: eps[7]})
		}
	})

	b.Run("enumerate-endpoints", func(b *testing.B) {
		for b.Loop() {
			call(b, hns.Request{Function: "HcnEnumerateEndpoints"})
		}
	})

	b.Run("enumerate-endpoint-by-id", func(b *testing.B) {
		for b.Loop() {
			call(b, hns.Request{
				Function: "HcnEnumerateEndpoints",
				Text:     []string{`{"Filter":"{\"ID\":\"` + eps[9] + `\"}"}`},
			})
		}
	})

	b.Run("all-endpoints-version-1", func(b *testing.B) {
		for b.Loop() {
			call(b, hns.Request{Function: "HNSCall", Text: []string{"GET", "/endpoints/"}})
		}
	})

	b.Run("whole-plan", func(b *testing.B) {
		for b.Loop() {
			m.Plan()
		}
	})

	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Save(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
