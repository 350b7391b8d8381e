package cluster

import (
	"net"
	"net/netip"

	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/network/tcpbalancer"
	"mullion.dev/mullion/internal/process/proc"
)

// controlPlanes returns the bare Linux hosts, on which kubeadm may make control planes.
func (p Plan) controlPlanes() []tcpbalancer.Server {
	var all []tcpbalancer.Server
	for _, h := range p.LinuxHosts {
		if h.Bare {
			address := netip.AddrPortFrom(h.Address, apiPort)
			all = append(all, tcpbalancer.Server{Name: h.Name, Address: address.String()})
		}
	}
	return all
}

// endpoint is the address of the control planes that kubeadm makes on bare Linux hosts.
func (c *composer) endpoint() error {
	if !c.Endpoint.IsValid() {
		return nil
	}

	dial := proc.DialIn(c.underlay.FabricNetns())
	c.add(&parts.Endpoint{
		Address: c.Endpoint.String(),
		Balancer: tcpbalancer.New(tcpbalancer.Config{
			Servers: c.controlPlanes(),
			Dial:    dial,
			Check:   tcpbalancer.CheckAPIServer(dial),
			Log:     c.log,
		}),
		Listen: func() (l net.Listener, err error) {
			err = proc.InNetns(c.underlay.FabricNetns(), func() (err error) {
				l, err = net.Listen("tcp", c.Endpoint.String())
				return err
			})
			return l, err
		},
		Log: c.log,
	}, parts.FabricUnit())

	return nil
}
