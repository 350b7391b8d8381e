package single

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/single/nat"
)

// gatewayGroup is the cgroup of the network's gateway, beside layout.Supervisor.
const gatewayGroup = "@gateway"

// newNetwork returns the network of the containers, of which nothing is there yet.
func (s *service) newNetwork() *nat.Network {
	p := s.options.Paths
	return nat.New(nat.Config{
		Program:  p.Program("mullion-nat"),
		Pins:     p.Pins(),
		Cgroup:   p.Cgroup(gatewayGroup),
		Clusters: underlay.AliasPrefix,
		Log:      s.options.Log,
		Output:   s.options.Output,
	})
}

// canJoin refuses a container whose network cannot be there, before anything is pulled or made for it.
func (s *service) canJoin(ask Run) error {
	if ask.Network == None {
		return nil
	}
	if err := s.network.Built(); err != nil {
		return notJoined(err)
	}
	return nil
}

// join gives the container its network namespace. exposed are the ports that its image exposes, as 80/tcp.
func (k *container) join(exposed map[string]struct{}, undo *cleanup.Stack) (err error) {
	switch k.ask.Network {
	case None:
		k.network, err = k.service.network.Apart(k.id)
	case NAT, "":
		var ports []nat.Port
		if ports, err = published(k.ask, exposed); err != nil {
			return err
		}
		k.network, err = k.service.network.Join(nat.Container{
			ID:    k.id,
			Names: k.names(k.name),
			Ports: ports,
		})

	default:
		err = fmt.Errorf("there is no network %q", k.ask.Network)
	}
	if err != nil {
		return notJoined(err)
	}

	undo.Add(k.network.Leave)

	k.service.watch(watched{
		id:    k.id,
		netns: k.network.Netns,
		end:   k.kill,
	}, undo)

	return nil
}

// watched is a container whose sockets are looked at.
type watched struct {
	id, netns string
	end       func(context.Context) error
}

// watch has a container's sockets looked at until undo is cleaned.
func (s *service) watch(w watched, undo *cleanup.Stack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[w.id] = w
	undo.Add(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, w.id)
		return nil
	})
}

// names returns the names by which other containers find this one, which is called name.
func (k *container) names(name string) []string { return []string{k.hostname(), k.id[:12], name} }

// dns is whom the container asks for names: nobody without a network.
func (k *container) dns() cri.DNS {
	var dns cri.DNS
	for _, server := range k.ask.DNS {
		dns.Servers = append(dns.Servers, server.String())
	}
	if len(dns.Servers) == 0 && k.network.DNS.IsValid() {
		dns.Servers = []string{k.network.DNS.String()}
	}
	return dns
}

// notJoined is why a container got no network, with what to do.
func notJoined(err error) error {
	r := &Refusal{Code: CodeFailed, Message: err.Error()}
	if port, ok := errors.AsType[*nat.PortError](err); ok {
		r.Remedy = "name another address or port: -p [ADDRESS:]PORT:CONTAINERPORT"
		if port.Taken {
			r.Remedy = fmt.Sprintf("choose another port of this machine (-p %d:%d), or end the program that has it: `ss -lnp 'sport = :%d'` names it",
				otherPort(port.Port.Host), port.Port.Container, port.Port.Host)
		}
		return r
	}

	if _, ok := errors.AsType[*nat.NoProgramError](err); ok {
		r.Remedy = "`make mullion-nat` builds it, where Mullion's source is (`make up` does not: no cluster uses it); a " +
			"release has it. Without a network it is not needed: --network none"
		return r
	}
	if _, ok := errors.AsType[*nat.NoTunError](err); ok {
		r.Remedy = "load the kernel's module (`modprobe tun`), or do without a network: --network none"
		return r
	}

	return err
}

// otherPort returns a port to try in place of one.
func otherPort(port uint16) uint16 {
	const usual = 8081
	return max(usual, port+1) // after the last one comes 0
}

// boundUnread ends containers in whose sockets more waits than in any that reads what it asks for: Linux counts it for
// nobody.
func (s *service) boundUnread() {
	engine.LookForUnread(s.life, func() {
		s.mu.Lock()
		running := slices.Collect(maps.Values(s.running))
		s.mu.Unlock()
		for _, w := range running {
			got, err := engine.Unread(w.netns, engine.MostUnread)
			if err == nil && got > engine.MostUnread {
				s.options.Log.Warn("container ended: more than allowed waits in its sockets of netlink and ping",
					"container", w.id, "bytes", got)
				_ = w.end(s.life) // it is looked at again
			}
		}
	})
}
