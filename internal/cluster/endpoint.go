package cluster

import (
	"net"
	"net/netip"

	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/network/tcpbalancer"
	"mullion.dev/mullion/internal/process/proc"
)

// endpoint is the address of the control planes that kubeadm makes on bare Linux hosts.
func (c *composer) endpoint() error {
	if !c.Endpoint.IsValid() {
		return nil
	}

	dial := proc.DialIn(c.underlay.FabricNetns())
	config := tcpbalancer.Config{
		Dial:  dial,
		Check: tcpbalancer.CheckAPIServer(dial),
		Log:   c.log,
	}

	for _, h := range c.LinuxHosts {
		if h.Bare {
			config.Servers = append(config.Servers,
				tcpbalancer.Server{Name: h.Name, Address: netip.AddrPortFrom(h.Address, apiPort).String()})
		}
	}

	c.add(&parts.Endpoint{
		Address:  c.Endpoint.String(),
		Balancer: tcpbalancer.New(config),
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
