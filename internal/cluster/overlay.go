package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/hns/hcn"
	hnsserver "mullion.dev/mullion/internal/hns/server"
	"mullion.dev/mullion/internal/hns/wire"
	"mullion.dev/mullion/internal/nodeagent/agentconfig"
	"mullion.dev/mullion/internal/podnet"
	"mullion.dev/mullion/internal/proc"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/winnode"
)

// hnsTimeout bounds one conversation with a host's HNS.
const hnsTimeout = 20 * time.Second

// dialHNS connects to the HNS of a Windows host, as the host's own programs do.
func dialHNS(ctx context.Context, paths Paths, node, netns string) (*hnsserver.Client, error) {
	token, err := os.ReadFile(winnode.Config{Dir: paths.Node(node)}.TokenFile())
	if err != nil {
		return nil, fmt.Errorf("connect to HNS of node %q: %w", node, err)
	}
	conn, err := proc.DialIn(netns)(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(winnode.HNSPort)))
	if err != nil {
		return nil, fmt.Errorf("connect to HNS of node %q: %w", node, err)
	}
	return hnsserver.NewClient(conn, string(token))
}

// podRoute tells the network which node a range of pod addresses is behind: routers on the underlay, or in an overlay the
// other hosts. The modes without a network between nodes have nobody to tell.
func (c *composer) podRoute() func(ctx context.Context, to podRange) error {
	switch c.Spec.Networking.Mode {
	case spec.ModeOverlay:
		o := &overlay{plan: c.Plan, netns: c.underlay.HostNetns, cidrs: map[string]netip.Prefix{}}
		return o.set
	case spec.ModeNAT, spec.ModeTransparent:
		linux := map[string]bool{}
		for _, h := range c.LinuxHosts {
			linux[h.Name] = true
		}
		return func(ctx context.Context, to podRange) error {
			if !linux[to.node] {
				return nil
			}
			return c.underlay.SetPodRoute(ctx, to.via, to.cidr)
		}
	}
	return func(ctx context.Context, to podRange) error { return c.underlay.SetPodRoute(ctx, to.via, to.cidr) }
}

// overlay does for Windows hosts what flannel's vxlan backend does: each host's HNS network gets a policy RemoteSubnetRoute for
// the pods of every other host (https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/backend/vxlan/vxlan_network_windows.go).
type overlay struct {
	plan  Plan
	netns func(host string) string

	mu    sync.Mutex
	cidrs map[string]netip.Prefix
}

// set takes a node's range up and brings the policies of all hosts in line. A host whose network is not there yet is seen to
// when its node changes again, which it does when it becomes Ready.
func (o *overlay) set(ctx context.Context, to podRange) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cidrs[to.node] = to.cidr.Masked()
	ctx, cancel := context.WithTimeout(ctx, hnsTimeout)
	defer cancel()
	var hosts []*overlayHost
	defer func() {
		for _, h := range hosts {
			_ = h.hns.Close()
		}
	}()
	for _, h := range o.plan.Hosts {
		if !o.cidrs[h.Name].IsValid() {
			continue
		}
		host, err := o.open(ctx, h)
		if err != nil {
			return err
		}
		if host != nil {
			hosts = append(hosts, host)
		}
	}
	var errs []error
	for _, h := range hosts {
		if err := h.sync(ctx, hosts); err != nil {
			errs = append(errs, fmt.Errorf("set the remote subnets of node %q: %w", h.name, err))
		}
	}
	return errors.Join(errs...)
}

// overlayHost is a host's side of the overlay, as its HNS has it.
type overlayHost struct {
	name    string
	hns     *hnsserver.Client
	network string // GUID
	have    []wire.Policy
	self    wire.RemoteSubnetRouteSetting // what others need to know of it
}

// open reads a host's network; nil when it is not there yet.
func (o *overlay) open(ctx context.Context, h Host) (*overlayHost, error) {
	client, err := dialHNS(ctx, o.plan.Paths, h.Name, o.netns(h.Name))
	if errors.Is(err, os.ErrNotExist) || isRefused(err) {
		return nil, nil // its agent is not up
	}
	if err != nil {
		return nil, err
	}
	host := &overlayHost{name: h.Name, hns: client, self: wire.RemoteSubnetRouteSetting{
		DestinationPrefix: o.cidrs[h.Name].String(), IsolationId: podnet.VSID, ProviderAddress: h.Address.String(),
	}}
	there, err := host.read(ctx)
	if err != nil || !there {
		return nil, errors.Join(err, client.Close())
	}
	return host, nil
}

func isRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// read finds the host's network, its routes and its distributed router's address.
func (h *overlayHost) read(ctx context.Context) (bool, error) {
	var err error
	if h.network, err = hcn.Find(ctx, h.hns, hcn.Network, podnet.NetworkName(spec.ModeOverlay)); err != nil || h.network == "" {
		return false, err
	}
	var n wire.Network
	if err := hcn.Query(ctx, h.hns, hcn.Network, h.network, &n); err != nil {
		return false, err
	}
	for _, p := range n.Policies {
		switch p.Type {
		case wire.PolicyRemoteSubnetRoute:
			h.have = append(h.have, p)
		case wire.PolicyDrMacAddress:
			var router wire.DrMacAddressSetting
			if err := json.Unmarshal(p.Settings, &router); err != nil {
				return false, err
			}
			h.self.DistributedRouterMacAddress = router.Address
		}
	}
	if h.self.DistributedRouterMacAddress == "" {
		return false, fmt.Errorf("HNS network %s of node %q names no distributed router", h.network, h.name)
	}
	return true, nil
}

// sync makes the routes to the other hosts the only ones.
func (h *overlayHost) sync(ctx context.Context, all []*overlayHost) error {
	want := map[string]wire.RemoteSubnetRouteSetting{}
	for _, other := range all {
		if other != h {
			want[other.self.DestinationPrefix] = other.self
		}
	}
	var stale, missing []wire.Policy
	for _, p := range h.have {
		var have wire.RemoteSubnetRouteSetting
		if err := json.Unmarshal(p.Settings, &have); err != nil {
			return err
		}
		if w, ok := want[have.DestinationPrefix]; ok && sameRoute(w, have) {
			delete(want, have.DestinationPrefix)
			continue
		}
		stale = append(stale, p)
	}
	for _, w := range want {
		p, err := hcn.Policy(wire.PolicyRemoteSubnetRoute, w)
		if err != nil {
			return err
		}
		missing = append(missing, p)
	}
	for _, change := range []struct {
		request  string
		policies []wire.Policy
	}{{"Remove", stale}, {"Add", missing}} {
		if len(change.policies) == 0 {
			continue
		}
		if err := hcn.Modify(ctx, h.hns, hcn.Network, h.network, change.request, "Policy", wire.Policies{Policies: change.policies}); err != nil {
			return err
		}
	}
	return nil
}

func sameRoute(a, b wire.RemoteSubnetRouteSetting) bool {
	return a.IsolationId == b.IsolationId && a.ProviderAddress == b.ProviderAddress &&
		strings.EqualFold(a.DistributedRouterMacAddress, b.DistributedRouterMacAddress)
}

// share cuts the hosts' parts of the underlay, in mode transparent: the second half of a /24, and of larger ones too, as no more
// nodes than fit below are allowed. The last ones are load balancers', the machine's and the tests'.
func (p *Plan) share() error {
	if p.Spec.Networking.Mode != spec.ModeTransparent || len(p.Hosts) == 0 {
		return nil
	}
	subnet := p.Spec.Networking.Underlay()
	if nodes := len(p.Hosts) + len(p.LinuxHosts); spec.FirstNode+nodes > spec.SharedFirst {
		return fmt.Errorf("plan pods' addresses on the underlay %s: mode transparent has room for %d nodes, not %d", subnet, spec.SharedFirst-spec.FirstNode, nodes)
	}
	size := (spec.SharedLast - spec.SharedFirst + 1) / len(p.Hosts)
	for i := range p.Hosts {
		first := nth(p.Spec.Networking.PartAddress(p.Spec.Part()), spec.SharedFirst+i*size)
		p.Hosts[i].Shared = agentconfig.Shared{Subnet: subnet, Gateway: p.Machine, First: first, Last: nth(first, size-1)}
	}
	return nil
}
