package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
)

// newUnderlay is the cluster's underlay; it touches nothing yet.
func newUnderlay(p Plan) (*underlay.Underlay, error) {
	config := underlay.Config{
		RunDir:  p.Paths.Run(),
		Link:    p.Paths.Link(),
		Subnet:  p.Spec.Networking.Underlay(),
		Subnet6: p.Spec.Networking.Underlay6(),
		Fabric:  p.Fabric,
		Machine: p.Machine,
		Tunnel:  p.tunnel(),
	}
	if p.Spec.Foreign() {
		f := p.Spec.Join.Foreign
		config.LAN = underlay.LAN{Link: f.Link, MTU: f.MTU, Pods: p.Spec.Networking.Pods()}
	}
	return underlay.New(config)
}

// tunnel is the underlay's way to the other machines. Its port has the number of the API server's, so that a firewall
// opens one number; its VNI is made from where the API server is, which all machines of a cluster know and no two
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

// nodeNetworks are the subnets that nodes have addresses in.
func nodeNetworks(n spec.Networking) []netip.Prefix {
	networks := []netip.Prefix{n.Underlay()}
	if n.DualStack() {
		networks = append(networks, n.Underlay6())
	}
	return networks
}

// removeNetworks removes the underlay of a data folder, whatever its specification says or said.
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

// fabric is the component of the network that control plane and nodes stand on. Its namespaces outlive a supervisor, so
// that pods keep running; Down removes them.
type fabric struct{ underlay *underlay.Underlay }

// Name is the component's name.
func (f *fabric) Name() string { return "fabric" }

// Start makes or mends the network.
func (f *fabric) Start(ctx context.Context) error { return f.underlay.Up(ctx) }

// Stop leaves the network in place.
func (f *fabric) Stop(context.Context) error { return nil }
