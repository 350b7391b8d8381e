package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/network/overlay"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// newUnderlay returns the cluster's underlay; it touches nothing yet.
func newUnderlay(p Plan) (*underlay.Underlay, error) {
	config := underlay.Config{
		RunDir:   p.Paths.Run(),
		Link:     p.Paths.Link(),
		Subnet:   p.Spec.Networking.Underlay(),
		Subnet6:  p.Spec.Networking.Underlay6(),
		Fabric:   p.Fabric,
		Endpoint: p.Endpoint.Addr(),
		Machine:  p.Machine,
		Tunnel:   p.tunnel(),
	}

	if p.Spec.Foreign() {
		f := p.Spec.Join.Foreign
		config.LAN = underlay.LAN{
			Link: f.Link,
			MTU:  f.MTU,
			Pods: p.Spec.Networking.Pods(),
		}
	} else if external := p.Spec.Networking.External(); len(external) > 0 && p.Spec.Join == nil {
		config.External = underlay.External{Nodes: external, Pods: p.Spec.Networking.Pods()}
	}

	return underlay.New(config)
}

// tunnel returns the underlay's way to the other machines. Its port has the API server's number, so a firewall has to
// open only one number. Its VNI is made from the API server's address, which all machines of a cluster know and no two
// clusters share.
func (p Plan) tunnel() underlay.Tunnel {
	n := p.Spec.Networking
	if !p.Spec.SeveralMachines() {
		return underlay.Tunnel{}
	}
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s:%d", n.AdvertiseAddress, n.APIServerPort)
	return underlay.Tunnel{
		Local: p.Spec.Address(),
		Port:  uint16(n.APIServerPort),
		VNI:   sum.Sum32()%(1<<24-1) + 1,
	} // a validated port
}

// nodeNetworks returns the subnets that nodes have addresses in.
func nodeNetworks(n spec.Networking) []netip.Prefix {
	networks := []netip.Prefix{n.Underlay()}
	if n.DualStack() {
		networks = append(networks, n.Underlay6())
	}
	return append(networks, n.External()...)
}

// removeNetworks removes the underlay of a data folder, also if the folder has no specification.
func removeNetworks(ctx context.Context, paths layout.Paths) error {
	plan := Plan{Paths: paths}
	if c, err := paths.LoadSpec(); err == nil {
		if plan, err = NewPlan(c, paths); err != nil {
			return err
		}
	} else {
		plan.Spec.Networking.UnderlaySubnet = "10.213.0.0/24" // not used in taking down
	}
	u, err := newUnderlay(plan)
	if err != nil {
		return err
	}
	return u.Down(ctx)
}

// fabric is the network that control plane and nodes stand on.
func (c *composer) fabric() error {
	fabric := &parts.Fabric{Network: c.underlay, Log: c.log}
	if c.Spec.Docker == nil {
		fabric.Mended = c.tellMended
	}
	c.add(fabric)
	if c.Spec.Networking.DualStack() {
		c.add(&parts.WayOut{Router: c.underlay, Log: c.log}, parts.FabricUnit())
	}
	return nil
}

// NetworkMended is the reason of the event by which a node tells that the network of its machine was mended.
const NetworkMended = "NetworkMended"

// tellMended makes an event of each of the machine's nodes, where an administrator looks who has no access to the
// machine.
func (c *composer) tellMended(ctx context.Context, what []string) error {
	var errs []error
	now, err := c.Paths.LoadSpec() // there may be more nodes since
	if err != nil {
		return err
	}
	for _, name := range now.NodeNames() {
		client, err := c.clientOf(name)
		if err != nil {
			return err
		}
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // a bare host's, or one that has not come yet
		}

		if err == nil {
			err = kubeclient.Record(ctx, client, node, kubeclient.Event{
				Component: "mullion",
				Type:      corev1.EventTypeWarning,
				Reason:    NetworkMended,
				Message: "somebody has changed the network of this node's machine, and it is as before: " +
					strings.Join(what, "; "),
			})
		}

		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// clientOf returns a client with the rights to tell of a node: on a machine that joined the node's own.
func (c *composer) clientOf(node string) (kubeclient.Interface, error) {
	if c.Spec.Join != nil {
		return c.access.nodes.Client(node)
	}
	return c.access.client()
}

// hasWayOut6 reports whether the pods of a dual-stack cluster reach what is beyond it by IPv6.
func hasWayOut6(paths layout.Paths, c spec.Cluster) (bool, error) {
	p, err := NewPlan(c, paths)
	if err != nil {
		return false, err
	}
	u, err := newUnderlay(p)
	if err != nil {
		return false, err
	}
	return u.HasWayOut6()
}

// routes adds what keeps the machine's routes as the cluster needs them: those to nodes' pods, and those to other
// machines.
func (c *composer) routes() error {
	routes := &parts.PodRoutes{
		Client: c.access.client,
		Set:    c.setPodRange(),
		Seen:   c.seen(),
		Log:    c.log,
	}

	if c.Spec.Foreign() {
		c.add(c.whenAllowed(routes, c.Spec.NodeNames()[0]), c.access.machine...)
		return nil
	}

	routes.Known = c.underlay.KeepExternalRoutes
	c.addOfNodes(routes, c.access.machine...)
	if c.Spec.SeveralMachines() {
		peers := &parts.Peers{
			Client:   c.access.client,
			Underlay: c.underlay,
			Log:      c.log,
		}
		if c.ownAddresses != nil {
			peers.Seen = c.ownAddresses.SetMachines
		}
		c.add(peers, append([]component.ID{parts.FabricUnit()}, c.access.machine...)...)
	}

	return nil
}

// setPodRange returns the function that tells the network which node a range of pod addresses is behind. It tells the
// underlay's routers, or in an overlay the other hosts, unless others make the overlay. In the modes nat and
// transparent only Linux nodes have routes.
func (c *composer) setPodRange() func(context.Context, parts.PodRange) error {
	said := map[netip.Addr]bool{}
	route := func(ctx context.Context, to parts.PodRange) error { // called by one goroutine
		err := c.underlay.SetPodRoute(ctx, to.Via, to.CIDRs...)
		if !errors.Is(err, underlay.ErrNoNeighbour) {
			return err
		}
		if !said[to.Via] {
			said[to.Via] = true
			c.log.Warn("the routers between this machine and the node have to lead to the node's pods", "node", to.Node,
				"address", to.Via, "pods", to.CIDRs)
		}

		return nil
	}

	if c.Spec.Foreign() {
		return func(ctx context.Context, to parts.PodRange) error { // a machine in a foreign cluster has IPv4 alone
			to.CIDRs = slices.DeleteFunc(to.CIDRs, func(p netip.Prefix) bool { return !p.Addr().Is4() })
			return route(ctx, to)
		}
	}

	switch c.Spec.Networking.Mode {
	case spec.ModeOverlay:
		if !c.Spec.Networking.OwnOverlay() {
			return func(context.Context, parts.PodRange) error { return nil }
		}
		o := c.overlay()
		return func(ctx context.Context, to parts.PodRange) error {
			node := overlay.Node{
				Name:    to.Node,
				Address: to.Via,
				Router:  to.Router,
			}
			if len(to.CIDRs) > 0 {
				node.Pods = to.CIDRs[0] // the IPv4 range; an overlay has no other
			}

			return o.Set(ctx, node)
		}

	case spec.ModeNAT, spec.ModeTransparent:
		linux := map[string]bool{}
		for _, h := range c.LinuxHosts {
			linux[h.Name] = true
		}

		return func(ctx context.Context, to parts.PodRange) error {
			if !linux[to.Node] {
				return nil
			}
			return route(ctx, to)
		}
	}

	return route
}

// overlay connects the machine's hosts to all others in mode overlay.
func (c *composer) overlay() *overlay.Overlay {
	config := overlay.Config{
		Netns: c.underlay.HostNetns,
		Dial: func(ctx context.Context, host string) (overlay.HNS, error) {
			client, err := dialHNS(ctx, c.Paths, host, c.underlay.HostNetns(host))
			if _, refused := errors.AsType[*net.OpError](err); refused || errors.Is(err, os.ErrNotExist) {
				return nil, errors.Join(overlay.ErrDown, err) // its agent is not up
			}
			return client, err
		},
	}

	for _, h := range c.Hosts {
		config.Windows = append(config.Windows, overlay.Host{Name: h.Name, Address: h.Address})
	}

	for _, h := range c.LinuxHosts {
		config.Linux = append(config.Linux, overlay.Host{Name: h.Name, Address: h.Address})
	}

	if c.Spec.SeveralMachines() {
		config.Tell = func(ctx context.Context, node, router string) error {
			client, err := c.access.client()
			if c.Spec.Join != nil { // the node's own certificate may write its Node
				client, err = c.access.nodes.Client(node)
			}
			if err != nil {
				return err
			}
			return parts.PublishRouter(ctx, client, node, router)
		}
	}

	return overlay.New(config)
}
