package dataplane

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/network/netplan"
)

// Fake is a data plane without a kernel, for tests of the packages that use one. It passes the same suite as Plane.
type Fake struct {
	mu   sync.Mutex
	plan netplan.Plan
	// Err is returned by the next Apply, which then changes nothing.
	Err error
	// InUse are ports that somebody has bound.
	InUse map[uint16]bool
}

// Apply stores the plan.
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

// ApplyChange changes the plan that was applied last.
func (f *Fake) ApplyChange(_ context.Context, c netplan.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.Err; err != nil {
		f.Err = nil
		return err
	}
	f.plan = f.plan.With(c)
	return nil
}

// Observe returns the parts of the plan applied last that Plane's Observe can read back.
func (f *Fake) Observe(context.Context) (netplan.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return visible(f.plan), nil
}

// Differences returns the differences between the plan and the one applied last.
func (f *Fake) Differences(_ context.Context, plan netplan.Plan) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return differing(Dump(plan), Dump(f.plan)), nil
}

// Forget drops the plan, as if somebody else had removed everything from the kernel.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = netplan.Plan{}
}

// differing compares two dumps.
func differing(want, have string) []string {
	lines := func(s string) map[string]bool {
		set := map[string]bool{}
		for line := range strings.Lines(s) {
			set[strings.TrimSpace(line)] = true
		}
		return set
	}

	var found []string
	w, h := lines(want), lines(have)
	for line := range w {
		if !h[line] {
			found = append(found, "missing: "+line)
		}
	}

	for line := range h {
		if !w[line] {
			found = append(found, "left over: "+line)
		}
	}

	slices.Sort(found)
	return found
}

// Stats returns zeros for a port of the plan, and an error for any other.
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

// Dump returns the plan as text, one line an object.
func (f *Fake) Dump() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Dump(f.plan)
}

// Dump returns a plan as text, one line an object.
func Dump(p netplan.Plan) string {
	var b strings.Builder
	for _, x := range p.Bridges {
		dumpBridge(&b, x)
	}

	for _, x := range p.Peers {
		fmt.Fprintf(&b, "peer %s %s of %s at %s %s\n", x.ID, x.Subnet, x.Bridge, x.VTEP, x.MAC)
	}

	for _, x := range p.Namespaces {
		fmt.Fprintf(&b, "namespace %s\n", x)
	}

	for _, x := range p.Ports {
		dumpPort(&b, x)
	}

	for _, x := range p.LoadBalancers {
		dumpBalancer(&b, x)
	}

	return b.String()
}

func dumpBridge(b *strings.Builder, x netplan.Bridge) {
	fmt.Fprintf(b, "bridge %s %s %v %s", x.ID, x.Mode, x.Addrs, x.MAC)
	if len(x.Gateways) > 0 {
		fmt.Fprintf(b, " gateways %v", x.Gateways)
	}
	if x.Overlay != nil {
		fmt.Fprintf(b, " vni %d port %d vtep %s mac %s", x.Overlay.VNI, x.Overlay.Port, x.Overlay.VTEP, x.Overlay.MAC)
	}

	if x.Uplink != "" {
		fmt.Fprintf(b, " uplink %s", x.Uplink)
	}
	if x.HostVIPs {
		b.WriteString(" hostvips")
	}
	if x.VLAN != 0 {
		fmt.Fprintf(b, " vlan %d", x.VLAN)
	}

	if x.DNSProxy {
		b.WriteString(" dns")
	}
	if x.DHCP {
		b.WriteString(" dhcp")
	}

	if x.Apart != 0 {
		fmt.Fprintf(b, " apart %d", x.Apart)
	}
	b.WriteByte('\n')
}

func dumpPort(b *strings.Builder, x netplan.Port) {
	fmt.Fprintf(b, "port %s %s/%s on %s %s %v", x.ID, x.Namespace, x.Name, x.Bridge, x.MAC, x.Addrs)
	for _, r := range x.Routes {
		fmt.Fprintf(b, " %s->%s", r.Dst, r.Via)
	}

	for _, n := range x.NAT {
		fmt.Fprintf(b, " nat(except %v only %v", n.Except, n.Only)
		if n.To.IsValid() {
			fmt.Fprintf(b, " to %s", n.To)
		}
		if n.ICMP {
			b.WriteString(" icmp")
		}
		b.WriteByte(')')
	}

	for _, a := range x.ACL {
		fmt.Fprintf(b, " acl%+v", a)
	}

	for _, y := range x.Proxies {
		fmt.Fprintf(b, " proxy%+v", y)
	}

	if x.EgressBPS > 0 {
		fmt.Fprintf(b, " egress %d bit/s", x.EgressBPS)
	}

	if x.EncapOverhead > 0 {
		fmt.Fprintf(b, " overhead %d", x.EncapOverhead)
	}
	b.WriteByte('\n')
}

func dumpBalancer(b *strings.Builder, x netplan.LoadBalancer) {
	fmt.Fprintf(b, "lb %s %v proto %d port %d -> %v byclient=%v", x.ID, x.VIPs, x.Protocol, x.Port, x.Backends,
		x.ByClient)
	for _, flag := range []struct {
		name string
		set  bool
	}{{"external", x.External}, {"fromhost", x.FromHost}, {"dsr", x.DSR}, {"preservedip", x.PreserveDIP}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}

	if x.SourceVIP.IsValid() {
		fmt.Fprintf(b, " source %s", x.SourceVIP)
	}
	if x.Bridge != "" {
		fmt.Fprintf(b, " of %s", x.Bridge)
	}
	b.WriteByte('\n')
}

// visible leaves out what cannot be read back out of a kernel.
func visible(p netplan.Plan) netplan.Plan {
	out := netplan.Plan{Namespaces: p.Namespaces}
	for _, b := range p.Bridges {
		out.Bridges = append(out.Bridges, netplan.Bridge{
			ID:       b.ID,
			Mode:     b.Mode,
			Addrs:    b.Addrs,
			MAC:      b.MAC,
			Gateways: b.Gateways,
			Apart:    b.Apart,
			DNSProxy: b.DNSProxy,
			DHCP:     b.DHCP,
		})
	}

	for _, port := range p.Ports {
		port.ACL = nil
		port.Proxies = nil
		port.EncapOverhead = 0
		out.Ports = append(out.Ports, port)
	}

	for _, lb := range p.LoadBalancers {
		if len(lb.Backends) == 0 {
			continue
		}
		lb.DSR, lb.PreserveDIP = false, lb.PreserveDIP && len(lb.VIPs) > 0
		out.LoadBalancers = append(out.LoadBalancers, lb)
	}

	return out
}

// HoldPorts marks the ports as in use until the result is closed. It is an error if one of them is in use already.
func (f *Fake) HoldPorts(p netplan.HeldPorts) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for port := int(p.First); port <= int(p.Last); port++ {
		if f.InUse[uint16(port)] {
			return nil, fmt.Errorf("port %d is in use", port)
		}
	}

	if f.InUse == nil {
		f.InUse = map[uint16]bool{}
	}
	for port := int(p.First); port <= int(p.Last); port++ {
		f.InUse[uint16(port)] = true
	}

	return closer(func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for port := int(p.First); port <= int(p.Last); port++ {
			delete(f.InUse, uint16(port))
		}
		return nil
	}), nil
}

type closer func() error

func (c closer) Close() error { return c() }

// Holds reports whether a port is in use.
func (f *Fake) Holds(port uint16) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.InUse[port]
}
