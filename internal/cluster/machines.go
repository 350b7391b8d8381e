package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"

	"k8s.io/client-go/kubernetes"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/spec"
)

// peers is the component that tells the underlay which other machines it spans.
type peers struct {
	client   func() (kubernetes.Interface, error)
	underlay *underlay.Underlay
	log      *slog.Logger

	cancel context.CancelFunc
	ended  <-chan struct{}
}

// Name is the component's name.
func (p *peers) Name() string { return "machines" }

// Start returns when the machines there are have been told.
func (p *peers) Start(ctx context.Context) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	p.ended, err = machines.Watch(ctx, run, client, func(ctx context.Context, all []machines.Machine) {
		var at []netip.Addr
		for _, m := range all {
			at = append(at, m.Address)
		}
		if err := p.underlay.SetMachines(ctx, at); err != nil && ctx.Err() == nil {
			p.log.Error("span the cluster's machines", "machines", at, "error", err)
		}
	})
	return err
}

// Stop ends the watch; the tunnel stays.
func (p *peers) Stop(context.Context) error {
	if p.cancel != nil {
		p.cancel()
		if p.ended != nil {
			<-p.ended
		}
	}
	return nil
}

// joined takes the place of the control plane on a machine that joined: the API is reached as discovery found it, and
// after the kubelets have their certificates with those.
func (c *composer) joined() error {
	n := c.names()
	c.access = access{
		server:    c.Spec.Join.Server,
		caFile:    c.Paths.JoinCA(),
		bootstrap: c.Paths.JoinKubeconfig(),
		nodes:     []string{"fabric"},
		machine:   []string{identityUnit(n[0])},
		client:    func() (kubernetes.Interface, error) { return c.nodeClient(n[0]) },
	}
	var nodes []string
	for _, name := range n {
		nodes = append(nodes, (&nodeReady{node: name}).Name())
	}
	if !c.Spec.Foreign() {
		c.add(&claim{c: c}, nodes...)
		c.add(c.loadBalancer(), append([]string{"fabric"}, c.access.machine...)...)
		if *c.Spec.Addons.LocalStorage {
			c.add(&farVolumes{c: c}, c.access.machine...)
		}
	}
	return nil
}

// names are those of the machine's nodes.
func (p Plan) names() []string {
	var names []string
	for _, n := range p.Spec.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// nodeClient is a client that has the rights of one of the machine's nodes.
func (c *composer) nodeClient(name string) (kubernetes.Interface, error) {
	ca, err := os.ReadFile(c.access.caFile)
	if err != nil {
		return nil, err
	}
	for _, h := range c.Hosts {
		if h.Name == name {
			return c.hostConfig(h, nil).Identity().Client(c.access.server, ca)
		}
	}
	for _, h := range c.LinuxHosts {
		if h.Name == name {
			return c.linuxConfig(h).Identity().Client(c.access.server, ca)
		}
	}
	return nil, &NotFoundError{Node: name, Nodes: c.names()}
}

func identityUnit(node string) string { return "identity/" + node }

// identity adds the unit that is ready when a kubelet has its certificate, where that is used beside the kubelet, and
// returns its name as what has to wait for it.
func (c *composer) identity(node string, i kubenode.Identity, kubelet string) []string {
	if c.access.proxy != "" {
		return nil
	}
	c.add(&identity{node: node, Identity: i}, kubelet)
	return []string{identityUnit(node)}
}

// identity is the component that waits for a kubelet's certificate.
type identity struct {
	kubenode.Identity
	node string
}

// Name is the component's name.
func (i *identity) Name() string { return identityUnit(i.node) }

// Start waits for the certificate, which the control plane signs when it has seen the kubelet's token.
func (i *identity) Start(ctx context.Context) error {
	if err := i.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the certificate of node %q: %w", i.node, err)
	}
	return nil
}

// Stop does nothing.
func (i *identity) Stop(context.Context) error { return nil }

const claimUnit = "claim"

// claim is the component that ties the machine's part of the underlay to its nodes: with the last node the part is
// given back.
type claim struct{ c *composer }

// Name is the component's name.
func (*claim) Name() string { return claimUnit }

// Start makes the nodes owners of the claim.
func (u *claim) Start(ctx context.Context) error {
	client, err := u.c.access.client()
	if err != nil {
		return err
	}
	return machines.Own(ctx, client, u.c.Spec.Join.Part, u.c.names())
}

// Stop does nothing.
func (*claim) Stop(context.Context) error { return nil }

// joinedNodes is what nodeClient needs, outside of the supervisor of a machine that joined.
func joinedNodes(s spec.Cluster, paths layout.Paths) (*composer, error) {
	plan, err := NewPlan(s, paths)
	if err != nil {
		return nil, err
	}
	u, err := newUnderlay(plan)
	if err != nil {
		return nil, err
	}
	return &composer{Plan: plan, underlay: u, access: access{server: s.Join.Server, caFile: paths.JoinCA()}}, nil
}
