// Package cluster is the composition root: it turns a cluster's specification into the ordered parts that make it, and
// brings it up and down.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/winver"
)

// Plan is a specification with everything worked out: addresses, builds, folders. It is plain data.
type Plan struct {
	Spec  spec.Cluster
	Paths layout.Paths
	// APIServer is the API server's address on the underlay; the machine reaches it through the forwarder.
	APIServer netip.AddrPort
	// Fabric is the bridge's address on the underlay, Machine the machine's own.
	Fabric, Machine netip.Addr
	// Endpoint is the address, on the underlay, of the control planes of bare Linux hosts; not valid without such
	// hosts.
	Endpoint netip.AddrPort
	// Hosts are the Windows nodes, LinuxHosts the Linux ones; their addresses follow the order of the specification's
	// nodes.
	Hosts      []Host
	LinuxHosts []LinuxHost
}

// Host is one Windows host of a plan.
type Host struct {
	spec.Node
	Build   winver.Build
	Address netip.Addr
	// Address6 is the IPv6 address, if the node has both families.
	Address6 netip.Addr
	// Shared is the host's part of the underlay for its pods, in mode transparent.
	Shared agentconfig.Shared
}

// LinuxHost is the host of one Linux node of a plan.
type LinuxHost struct {
	spec.Node
	Address netip.Addr
	// Address6 is the IPv6 address in a dual-stack cluster.
	Address6 netip.Addr
}

// apiPort is the port of an API server, Mullion's and kubeadm's
// (https://kubernetes.io/docs/reference/networking/ports-and-protocols/).
const apiPort = 6443

// NewPlan works out the plan of a specification.
func NewPlan(c spec.Cluster, paths layout.Paths) (Plan, error) {
	p := Plan{Spec: c, Paths: paths}
	underlay := c.Networking.PartAddress(c.Part())
	p.APIServer = netip.AddrPortFrom(nth(c.Networking.PartAddress(0), spec.Fabric), apiPort)
	p.Fabric, p.Machine = nth(underlay, spec.Fabric), nth(underlay, spec.Machine)
	if e := c.Endpoint(); e.IsValid() {
		p.Endpoint = netip.AddrPortFrom(e, apiPort)
	}

	if c.Foreign() {
		p.Fabric, p.Machine = netip.Addr{}, c.Address()
	}

	for i, n := range c.Nodes {
		address := nth(underlay, spec.FirstNode+i)
		if c.Foreign() {
			address = netip.MustParseAddr(c.Join.Foreign.Addresses[i]) // validated
		}

		var address6 netip.Addr
		if n.DualStack() {
			var err error
			if address6, err = spec.Address6(c.Networking.Underlay(), c.Networking.Underlay6(), address); err != nil {
				return Plan{}, fmt.Errorf("plan node %q: %w", n.Name, err)
			}
		}

		if n.Linux() {
			p.LinuxHosts = append(p.LinuxHosts, LinuxHost{
				Node:     n,
				Address:  address,
				Address6: address6,
			})
			continue
		}

		build, err := n.Build()
		if err != nil {
			return Plan{}, fmt.Errorf("plan node %q: %w", n.Name, err)
		}

		p.Hosts = append(p.Hosts, Host{
			Node:     n,
			Build:    build,
			Address:  address,
			Address6: address6,
		})
	}

	return p, p.share()
}

func nth(a netip.Addr, n int) netip.Addr { return spec.Nth(a, n) }

// Text returns the plan for a person, as --dry-run prints it. If the cluster cannot be put together, it has what is
// known.
func (p Plan) Text() (string, error) {
	var b strings.Builder
	n := p.Spec.Networking
	fmt.Fprintf(&b, "cluster %s in %s\n", p.Spec.Name, p.Paths.Data)
	fmt.Fprintf(&b, "  Kubernetes %s%s\n", cmp.Or(p.Spec.KubernetesVersion, version.Kubernetes),
		p.ownText(p.Spec.KubernetesVersion))
	if p.Spec.Wine != "" {
		fmt.Fprintf(&b, "  Wine in %s\n", p.Spec.Wine)
	}

	fmt.Fprintf(&b, "  underlay %s, pods %s, services %s\n", n.UnderlaySubnet, n.PodSubnet, n.ServiceSubnet)
	fmt.Fprintf(&b, "  load balancers' addresses %s\n", n.LoadBalancerPool)
	fmt.Fprintf(&b, "  Windows pods' network: %s (%s)\n", n.Mode, n.Profile)
	fmt.Fprintf(&b, "  API server %s\n", p.apiServerText())
	for _, line := range p.nodeLines() {
		fmt.Fprintln(&b, line)
	}

	if p.Endpoint.IsValid() {
		fmt.Fprintf(&b, "  control planes that kubeadm makes on bare hosts: %s\n", p.Endpoint)
	}
	units, err := Units(p, slog.New(slog.DiscardHandler))
	if err != nil {
		return b.String(), fmt.Errorf("the cluster's parts cannot be put together: %w", err)
	}

	after := map[component.ID][]component.ID{}
	for _, u := range units {
		after[u.ID()] = u.After
	}

	order, err := component.Order(units)
	if err != nil {
		return b.String(), fmt.Errorf("the cluster's parts cannot be put in order: %w", err)
	}

	fmt.Fprintln(&b, "parts, in the order they start:")
	for _, id := range order {
		fmt.Fprintf(&b, "  %s", id)
		if len(after[id]) > 0 {
			fmt.Fprintf(&b, " (after %s)", strings.Join(component.Texts(after[id]), ", "))
		}
		fmt.Fprintln(&b)
	}

	return b.String(), nil
}

// apiServerText says where the API server is, and how this machine reaches it.
func (p Plan) apiServerText() string {
	if p.Spec.Join != nil {
		return p.Spec.Join.Server + ", on another machine"
	}
	n := p.Spec.Networking
	port := "a free port"
	if n.APIServerPort != 0 {
		port = fmt.Sprint(n.APIServerPort)
	}
	return fmt.Sprintf("%s, reached at %s on %s", p.APIServer, n.APIServerAddress, port)
}

// ownText says of a version whose bundle is not Mullion's where it lies.
func (p Plan) ownText(version string) string {
	dir := p.Paths.Kubernetes(version).Dir
	if !strings.HasPrefix(dir, p.Paths.Data+"/") {
		return ""
	}
	return " of " + dir
}

// nodeLines describe the nodes, in the order of their addresses.
func (p Plan) nodeLines() []string {
	at := map[netip.Addr]string{}
	line := func(n spec.Node, address netip.Addr, what string) {
		at[address] = fmt.Sprintf("  node %s: %s, %s", n.Name, address, what)
		if n.KubernetesVersion != "" {
			at[address] += ", Kubernetes " + n.KubernetesVersion + p.ownText(n.KubernetesVersion)
		}
		if n.Bare {
			at[address] += ", bare"
		}

		for _, part := range OwnPrograms(p.Paths, n) {
			at[address] += ", own " + part
		}

		if n.Taint {
			at[address] += fmt.Sprintf(", tainted os=%s:NoSchedule", n.OS)
		}
	}

	for _, h := range p.Hosts {
		line(h.Node, h.Address, fmt.Sprintf("%s (%s), %s", h.Build.ProductName, h.Build.Version, h.WindowsVersion))
	}

	for _, h := range p.LinuxHosts {
		line(h.Node, h.Address, "Linux")
	}

	var lines []string
	for _, address := range slices.SortedFunc(maps.Keys(at), netip.Addr.Compare) {
		lines = append(lines, at[address])
	}

	return lines
}

// share gives each host its part of the underlay for pods, in mode transparent: all parts together are the second half
// of a /24. Larger subnets are cut in the same way, since the first half limits the number of nodes. The last addresses
// are left to load balancers, the machine and tests.
func (p *Plan) share() error {
	if p.Spec.Networking.Mode != spec.ModeTransparent || len(p.Hosts) == 0 {
		return nil
	}
	subnet := p.Spec.Networking.Underlay()
	if nodes := len(p.Hosts) + len(p.LinuxHosts); spec.FirstNode+nodes > spec.SharedFirst {
		return fmt.Errorf("plan pods' addresses on the underlay %s: mode transparent has room for %d nodes, not %d",
			subnet, spec.SharedFirst-spec.FirstNode, nodes)
	}

	size := (spec.SharedLast - spec.SharedFirst + 1) / len(p.Hosts)
	for i := range p.Hosts {
		first := nth(p.Spec.Networking.PartAddress(p.Spec.Part()), spec.SharedFirst+i*size)
		p.Hosts[i].Shared = agentconfig.Shared{
			Subnet:  subnet,
			Gateway: p.Machine,
			First:   first,
			Last:    nth(first, size-1),
		}
	}

	return nil
}

// ErrFailed says that a part of the cluster did not start.
var ErrFailed = errors.New("a part of the cluster did not start")

// ConflictError says that something the cluster needs is in use.
type ConflictError struct {
	Err    error
	Remedy string
}

func (e *ConflictError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ConflictError) Unwrap() error { return e.Err }
