package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/hns/hcn"
	hnsserver "mullion.dev/mullion/internal/network/hns/server"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// hnsTimeout bounds one conversation with a host's HNS.
const hnsTimeout = 20 * time.Second

// dialHNS connects to the HNS of a Windows host, as the host's own programs do.
func dialHNS(ctx context.Context, paths layout.Paths, node, netns string) (*hnsserver.Client, error) {
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

// podRoute tells the network which node a range of pod addresses is behind: routers on the underlay, or in an overlay
// the other hosts. The modes without a network between nodes have nobody to tell.
func (c *composer) podRoute() func(ctx context.Context, to podRange) error {
	if c.Spec.Foreign() {
		return c.foreignRoute
	}
	switch c.Spec.Networking.Mode {
	case spec.ModeOverlay:
		o := &overlay{
			plan:      c.Plan,
			netns:     c.underlay.HostNetns,
			cidrs:     map[string]netip.Prefix{},
			told:      map[string]string{},
			elsewhere: map[string]overlayEnd{},
		}
		if c.Spec.SeveralMachines() {
			o.tell = c.tellRouter
		}
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
			return c.underlay.SetPodRoute(ctx, to.via, to.cidrs...)
		}
	}
	return func(ctx context.Context, to podRange) error { return c.underlay.SetPodRoute(ctx, to.via, to.cidrs...) }
}

// overlay does what flannel's vxlan backend does: each Windows host's HNS network gets a policy RemoteSubnetRoute for
// the pods of every other host
// (https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/backend/vxlan/vxlan_network_windows.go), each Linux host a
// VXLAN interface with a route, a neighbour and a forwarding entry for them. Of hosts on other machines it is known
// from their Nodes, in an annotation, as flannel does it too; the underlay is one for all, so their addresses are
// reached as those here.
type overlay struct {
	plan  Plan
	netns func(host string) string
	// tell tells other machines of a router here; nil where there are none.
	tell func(ctx context.Context, node, router string) error

	mu        sync.Mutex
	cidrs     map[string]netip.Prefix // of this machine's hosts
	told      map[string]string       // their routers, as their Nodes say
	elsewhere map[string]overlayEnd   // of other machines' hosts
}

// set takes a node's range up and brings the policies of all hosts in line. A host whose network is not there yet is
// seen to when its node changes again, which it does when it becomes Ready.
func (o *overlay) set(ctx context.Context, to podRange) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.take(to)
	ctx, cancel := context.WithTimeout(ctx, hnsTimeout)
	defer cancel()
	var hosts []*overlayHost
	defer func() {
		for _, h := range hosts {
			_ = h.hns.Close()
		}
	}()
	var ends overlayEnds
	for _, h := range o.plan.Hosts {
		if !o.cidrs[h.Name].IsValid() {
			continue
		}
		host, err := o.open(ctx, h)
		if err != nil {
			return err
		}
		if host == nil {
			ends.unknown = append(ends.unknown, o.cidrs[h.Name])
			continue
		}
		hosts = append(hosts, host)
		ends.known = append(ends.known, host.self)
	}
	for _, h := range o.plan.LinuxHosts {
		if cidr := o.cidrs[h.Name]; cidr.IsValid() {
			ends.known = append(ends.known, overlayEnd{
				subnet:  cidr,
				address: h.Address,
				router:  linuxRouter(h.Address),
			})
		}
	}
	for _, e := range o.elsewhere {
		if e.router == nil {
			ends.unknown = append(ends.unknown, e.subnet)
			continue
		}
		ends.known = append(ends.known, e)
	}
	errs := []error{o.tellAll(ctx, hosts)}
	for _, h := range hosts {
		if err := h.sync(ctx, ends); err != nil {
			errs = append(errs, fmt.Errorf("set the remote subnets of node %q: %w", h.name, err))
		}
	}
	return errors.Join(append(errs, o.syncLinux(ctx, ends))...)
}

// take takes a node's range up.
func (o *overlay) take(to podRange) {
	delete(o.cidrs, to.node)
	delete(o.told, to.node)
	delete(o.elsewhere, to.node)
	if len(to.cidrs) == 0 {
		return
	}
	subnet := to.cidrs[0].Masked() // of IPv4: an overlay has no other
	if slices.Contains(o.plan.names(), to.node) {
		o.cidrs[to.node], o.told[to.node] = subnet, to.router
		return
	}
	end := overlayEnd{subnet: subnet, address: to.via}
	if mac, err := net.ParseMAC(to.router); err == nil && len(mac) == 6 && mac[0]&1 == 0 {
		end.router = mac // else its machine has yet to tell it
	}
	o.elsewhere[to.node] = end
}

// tellAll tells other machines of the routers here that they do not know.
func (o *overlay) tellAll(ctx context.Context, hosts []*overlayHost) error {
	if o.tell == nil {
		return nil
	}
	routers := map[string]net.HardwareAddr{}
	for _, h := range hosts {
		routers[h.name] = h.self.router
	}
	for _, h := range o.plan.LinuxHosts {
		if o.cidrs[h.Name].IsValid() {
			routers[h.Name] = linuxRouter(h.Address)
		}
	}
	var errs []error
	for name, router := range routers {
		if o.told[name] == router.String() {
			continue
		}
		if err := o.tell(ctx, name, router.String()); err != nil {
			errs = append(errs, fmt.Errorf("tell other machines of the router of node %q: %w", name, err))
			continue
		}
		o.told[name] = router.String()
	}
	return errors.Join(errs...)
}

// tellRouter writes a router into its Node: on a machine that joined with the node's own certificate, which may do that
// alone.
func (c *composer) tellRouter(ctx context.Context, node, router string) error {
	client, err := c.access.client()
	if c.Spec.Join != nil {
		client, err = c.nodeClient(node)
	}
	if err != nil {
		return err
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{routerAnnotation: router}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "mullion"})
	return err
}

// overlayEnd is what the others need to know of a host: its pods, its address on the underlay and its router's hardware
// address.
type overlayEnd struct {
	subnet  netip.Prefix
	address netip.Addr
	router  net.HardwareAddr
}

// overlayEnds are those of all hosts that have a range of pod addresses. Of some it is not known what their router is,
// as their HNS does not answer at the moment: the ways to their pods stay as they are.
type overlayEnds struct {
	known   []overlayEnd
	unknown []netip.Prefix
}

func (e overlayEnd) setting() wire.RemoteSubnetRouteSetting {
	return wire.RemoteSubnetRouteSetting{
		DestinationPrefix:           e.subnet.String(),
		IsolationId:                 podnet.VSID,
		ProviderAddress:             e.address.String(),
		DistributedRouterMacAddress: strings.ToUpper(strings.ReplaceAll(e.router.String(), ":", "-")),
	}
}

// linuxRouter is the hardware address of a Linux node's VXLAN interface, made of its address: locally administered,
// with the prefix that the kubelet and CNI's bridge have used for such.
func linuxRouter(a netip.Addr) net.HardwareAddr {
	b := a.As4()
	return net.HardwareAddr{0x0a, 0x58, b[0], b[1], b[2], b[3]}
}

// syncLinux brings the Linux hosts' interfaces in line. One whose namespace is not there yet is seen to when its node
// changes.
func (o *overlay) syncLinux(ctx context.Context, ends overlayEnds) error {
	var errs []error
	for _, h := range o.plan.LinuxHosts {
		subnet, pin := o.cidrs[h.Name], o.netns(h.Name)
		there, err := netns.Exists(pin)
		if err != nil || !there || !subnet.IsValid() {
			errs = append(errs, err)
			continue
		}
		var peers []netplan.Peer
		for _, e := range ends.known {
			if e.subnet != subnet {
				peers = append(peers, netplan.Peer{
					ID:     e.subnet.String(),
					Subnet: e.subnet,
					VTEP:   e.address,
					MAC:    e.router.String(),
				})
			}
		}
		vtep := dataplane.VTEP{
			Netns:  pin,
			Link:   podnet.NetworkName(spec.ModeOverlay),
			Uplink: underlay.HostLink,
			Subnet: subnet,
			Overlay: netplan.VXLAN{
				VNI:  podnet.VSID,
				Port: podnet.VXLANPort,
				VTEP: h.Address,
				MAC:  linuxRouter(h.Address).String(),
			},
		}
		if err := vtep.Apply(ctx, peers, ends.unknown); err != nil {
			errs = append(errs, fmt.Errorf("set the remote subnets of node %q: %w", h.Name, err))
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
	self    overlayEnd
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
	host := &overlayHost{name: h.Name, hns: client, self: overlayEnd{subnet: o.cidrs[h.Name], address: h.Address}}
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
	if h.network, err = hcn.Find(ctx, h.hns, hcn.Network, podnet.NetworkName(spec.ModeOverlay)); err != nil ||
		h.network == "" {
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
			if h.self.router, err = net.ParseMAC(router.Address); err != nil {
				return false, fmt.Errorf("read the distributed router of HNS network %s: %w", h.network, err)
			}
		}
	}
	if h.self.router == nil {
		return false, fmt.Errorf("HNS network %s of node %q names no distributed router", h.network, h.name)
	}
	return true, nil
}

// sync makes the routes to the other hosts the only ones, besides those to hosts that are not known at the moment.
func (h *overlayHost) sync(ctx context.Context, ends overlayEnds) error {
	want, keep := map[string]wire.RemoteSubnetRouteSetting{}, map[string]bool{}
	for _, e := range ends.known {
		if e.subnet != h.self.subnet {
			want[e.subnet.String()] = e.setting()
		}
	}
	for _, subnet := range ends.unknown {
		keep[subnet.String()] = true
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
		if keep[have.DestinationPrefix] {
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
		if err := hcn.Modify(ctx, h.hns, hcn.Network, h.network, change.request, "Policy",
			wire.Policies{Policies: change.policies}); err != nil {
			return err
		}
	}
	return nil
}

func sameRoute(a, b wire.RemoteSubnetRouteSetting) bool {
	return a.IsolationId == b.IsolationId && a.ProviderAddress == b.ProviderAddress &&
		strings.EqualFold(a.DistributedRouterMacAddress, b.DistributedRouterMacAddress)
}

// share cuts the hosts' parts of the underlay, in mode transparent: the second half of a /24, and of larger ones too,
// as no more nodes than fit below are allowed. The last ones are load balancers', the machine's and the tests'.
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
