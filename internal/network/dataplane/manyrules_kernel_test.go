//go:build kernel

package dataplane_test

import (
	"fmt"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
)

// A policy of 10,000 rules, about the most that fit into an object of the API, is carried out like a short one, and
// does no harm to what others do.
func TestNetworkPolicyOfManyRules(t *testing.T) {
	a, b, _ := fabric(t)
	a.apply(t, dataplanetest.Plan("10.244.1"))
	a5 := a.Pin(dataplanetest.NSA)
	a6 := a.Pin(dataplanetest.NSB)
	b5 := b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, a5, "a5", "10.244.1.5:80")
	netnstest.Serve(t, a5, "high", "10.244.1.5:8080")
	netnstest.Serve(t, a6, "a6", "10.244.1.6:80")
	p := newPoliced(a.ns)
	p.set(t)

	var rules []networkingv1.NetworkPolicyIngressRule
	for i := range 10_000 {
		rules = append(rules, from(block(fmt.Sprintf("172.16.%d.%d/32", i/256, i%256)), tcp(1+i%60_000)))
	}

	took := func(what string, policies ...*networkingv1.NetworkPolicy) {
		t.Helper()
		began := time.Now()
		p.set(t, policies...)
		t.Logf("%s took %s", what, time.Since(began).Round(time.Millisecond))
	}

	took("10,000 rules", intoA5(rules...))
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
	netnstest.Flow(t, b5, "10.244.1.6:80", "a6", "")
	netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "")
	took("one more", intoA5(append(rules, from(named("a6"), tcp("web")))...))
	passes(t, a6, "tcp", "10.244.1.5:80", true)
	passes(t, a6, "tcp", "10.244.1.5:8080", false)
	netnstest.NoFlow(t, b5, "10.244.1.5:80")
	took("one in their place", intoA5(from(named("b5"))))
	netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "")
	netnstest.NoFlow(t, a6, "10.244.1.5:80")
}
