package dataplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/netplan"
)

// Fake is a data plane without a kernel, for tests of what stands on it. It passes the same suite as Plane.
type Fake struct {
	mu   sync.Mutex
	plan netplan.Plan
	// Err is returned by the next Apply, which then changes nothing.
	Err error
}

// Apply keeps the plan.
func (f *Fake) Apply(_ context.Context, plan netplan.Plan) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Err; err != nil {
		f.Err = nil
		return err
	}
	f.plan = plan
	return nil
}

// Observe is the plan applied last, as far as Plane's Observe can tell it.
func (f *Fake) Observe(context.Context) (netplan.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return visible(f.plan), nil
}

// Differences tells what the plan has beside, or otherwise than, the one applied last.
func (f *Fake) Differences(_ context.Context, plan netplan.Plan) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return differing(Dump(plan), Dump(f.plan)), nil
}

// Forget loses everything, as a kernel does that somebody else cleans up.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = netplan.Plan{}
}

// differing compares two dumps.
func differing(want, have string) []string {
	var found []string
	for line := range strings.Lines(want) {
		if !slices.Contains(slices.Collect(strings.Lines(have)), line) {
			found = append(found, "missing: "+strings.TrimSpace(line))
		}
	}
	for line := range strings.Lines(have) {
		if !slices.Contains(slices.Collect(strings.Lines(want)), line) {
			found = append(found, "left over: "+strings.TrimSpace(line))
		}
	}
	return found
}

// Stats knows the plan's ports and has counted nothing.
func (f *Fake) Stats(_ context.Context, port string) (netplan.Stats, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.plan.Ports {
		if p.ID == port {
			return netplan.Stats{}, nil
		}
	}
	return netplan.Stats{}, fmt.Errorf("read statistics of endpoint %s: no such port", port)
}

// Dump is the plan as text, one line an object.
func (f *Fake) Dump() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Dump(f.plan)
}

// Dump is a plan as text, one line an object.
func Dump(p netplan.Plan) string {
	var b strings.Builder
	for _, x := range p.Bridges {
		fmt.Fprintf(&b, "bridge %s %s %v %s\n", x.ID, x.Mode, x.Addrs, x.MAC)
	}
	for _, x := range p.Namespaces {
		fmt.Fprintf(&b, "namespace %s\n", x)
	}
	for _, x := range p.Ports {
		fmt.Fprintf(&b, "port %s %s/%s on %s %s %v", x.ID, x.Namespace, x.Name, x.Bridge, x.MAC, x.Addrs)
		for _, r := range x.Routes {
			fmt.Fprintf(&b, " %s->%s", r.Dst, r.Via)
		}
		for _, n := range x.NAT {
			fmt.Fprintf(&b, " nat(except %v only %v)", n.Except, n.Only)
		}
		b.WriteByte('\n')
	}
	for _, x := range p.LoadBalancers {
		fmt.Fprintf(&b, "lb %s %v proto %d port %d -> %v byclient=%v\n", x.ID, x.VIPs, x.Protocol, x.Port, x.Backends, x.ByClient)
	}
	return b.String()
}

// visible leaves out what cannot be read back: where load balancers send to. Networks of a NAT that lie within others
// are one with those.
func visible(p netplan.Plan) netplan.Plan {
	out := p
	out.LoadBalancers = nil
	for _, lb := range p.LoadBalancers {
		if len(lb.Backends) == 0 {
			continue
		}
		lb.Backends, lb.ByClient = nil, false
		out.LoadBalancers = append(out.LoadBalancers, lb)
	}
	return out
}
