//go:build kernel

package dataplane_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// service returns the n-th of many load balancers: four backends, the first of which is pod b.
func service(n int) netplan.LoadBalancer {
	lb := netplan.LoadBalancer{
		ID:       fmt.Sprintf("1D3A2E1C-7D7F-4A0B-9C55-%012X", n),
		VIPs:     []netip.Addr{nth("10.96.0.0", n+256)},
		Protocol: netplan.TCP,
		Port:     80,
		Backends: []netip.AddrPort{netip.MustParseAddrPort("10.244.1.6:8080")},
	}
	for i := range 3 {
		lb.Backends = append(lb.Backends, netip.AddrPortFrom(nth("10.245.0.0", 4*n+i), 8080))
	}
	return lb
}

func nth(first string, n int) netip.Addr {
	b := netip.MustParseAddr(first).As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(n))
	return netip.AddrFrom4(b)
}

func services(n int) netplan.Plan {
	plan := dataplanetest.Plan("10.244.1")
	for i := range n {
		plan.LoadBalancers = append(plan.LoadBalancers, service(i))
	}
	plan.Normalize()
	return plan
}

const many = 5000

// Thousands of load balancers come one by one; each is there at once, and so is each change; repairs find what is
// wrong.
func TestScale(t *testing.T) {
	h := newHost(t)
	plan := services(0)
	h.apply(t, plan)
	step := func(c netplan.Change) time.Duration {
		t.Helper()
		start := time.Now()
		if err := h.ApplyChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}

	var took []time.Duration
	for i := range many {
		took = append(took, step(netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{service(i)}}}))
	}

	t.Logf("first sync: %v for each of the first 100, %v for each of the last 100", median(took[:100]),
		median(took[many-100:]))
	dataplanetest.Expect(t, h, services(many))
	took = took[:0]
	for i := range 200 {
		lb := service(i)
		lb.Backends = lb.Backends[:3]
		took = append(took, step(netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{lb}}}))
		took = append(took, step(netplan.Change{Removed: netplan.Removed{LoadBalancers: []string{lb.ID}}}))
		took = append(took, step(netplan.Change{Set: netplan.Plan{LoadBalancers: []netplan.LoadBalancer{service(i)}}}))
	}

	t.Logf("a change of one among %d: median %v, worst %v", many, median(took), slices.Max(took))
	whole := services(many)
	start := time.Now()
	dataplanetest.Expect(t, h, whole)
	t.Logf("reading all of it: %v", time.Since(start))
	start = time.Now()
	for range 10 {
		if found, err := h.Differences(t.Context(), whole); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
	}

	t.Logf("looking for differences where nobody changed anything: %v", time.Since(start)/10)
	for name, harm := range map[string]string{
		"elements":   "nft delete element inet hns vip { 10.96.1.0 . tcp . 80 }; nft add element inet hns vip { 10.96.255.0 . tcp . 80 : goto vip_4 }",
		"the rules":  "nft flush chain inet hns from_pod",
		"everything": "nft flush ruleset",
	} {
		run(t, h.ns, harm)
		start = time.Now()
		found, err := h.Differences(t.Context(), whole)
		if err != nil || len(found) == 0 {
			t.Errorf("%s: differences %q, %v", name, found, err)
		}

		looked := time.Since(start)
		start = time.Now()
		h.apply(t, whole)
		t.Logf("%s: found in %v, put right in %v: %q", name, looked, time.Since(start), found)
		dataplanetest.Expect(t, h, whole)
	}
}
