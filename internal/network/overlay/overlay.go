// Package overlay connects the nodes of a cluster in mode overlay, as flannel's vxlan backend does
// (https://github.com/flannel-io/flannel/blob/v0.27.4/pkg/backend/vxlan/vxlan_network_windows.go): each Windows host's
// HNS network gets a policy RemoteSubnetRoute for the pods of every other host, each Linux host a VXLAN interface with
// a route, a neighbour and a forwarding entry for them. It owns neither the HNS networks nor the hosts' namespaces.
//
//	Node ──Set──▶ Overlay ──▶ HNS of each Windows host        (windows.go)
//	                      ├─▶ VXLAN interface of each Linux host (linux.go)
//	                      └─▶ Tell: this machine's routers, for the other machines
//
// An end is what others have to know of a host: its pods' subnet, its address on the underlay and the hardware address
// of its router. A host on another machine tells its router in an annotation of its Node, as flannel does. The underlay
// spans all machines, so hosts are reached by the same addresses everywhere.
package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"mullion.dev/mullion/internal/network/hns/hcn"
)

// hnsTimeout bounds the conversations with the hosts' HNS for one change of a node.
const hnsTimeout = 20 * time.Second

// Host is a host of this machine.
type Host struct {
	Name    string
	Address netip.Addr // on the underlay
}

// HNS is a connection to a Windows host's HNS.
type HNS interface {
	hcn.Caller
	io.Closer
}

// Config is what an Overlay depends on.
type Config struct {
	// Windows and Linux are this machine's hosts.
	Windows, Linux []Host
	// Dial connects to the HNS of a Windows host. It returns ErrDown while nobody serves it.
	Dial func(ctx context.Context, host string) (HNS, error)
	// Netns is the path of a Linux host's pinned network namespace, which may not be there yet.
	Netns func(host string) string
	// Tell publishes the hardware address of a host's router to the other machines; nil if there are none.
	Tell func(ctx context.Context, host, router string) error
}

// ErrDown says that a host's HNS is not served at the moment.
var ErrDown = errors.New("HNS is not served")

// Node is what a Node object says of a host, of this machine or another.
type Node struct {
	Name    string
	Address netip.Addr
	// Pods is the subnet of the host's pods; the zero Prefix if it has none any more.
	Pods netip.Prefix
	// Router is the hardware address of the host's router, as its machine has published it; "" before that.
	Router string
}

// Overlay keeps the hosts of this machine connected to all hosts. Its methods may be called concurrently.
type Overlay struct {
	Config

	mu        sync.Mutex
	subnets   map[string]netip.Prefix // of the pods of this machine's hosts
	told      map[string]string       // the routers of this machine's hosts, as their Nodes say
	elsewhere map[string]end          // other machines' hosts
}

// New returns an Overlay that knows of no node yet.
func New(c Config) *Overlay {
	return &Overlay{
		Config:    c,
		subnets:   map[string]netip.Prefix{},
		told:      map[string]string{},
		elsewhere: map[string]end{},
	}
}

// end is what the others need to know of a host.
type end struct {
	subnet  netip.Prefix     // of its pods
	address netip.Addr       // on the underlay
	router  net.HardwareAddr // nil: not known
}

// ends are those of all hosts that have a subnet for pods. The routers of hosts in unknown are not known at the moment,
// since their HNS does not answer: the routes to their pods stay as they are.
type ends struct {
	known   []end
	unknown []netip.Prefix
}

// Set records a node and updates the routes of all hosts of this machine. A host whose network is not there yet is
// updated when its Node changes again, which it does when it becomes Ready.
func (o *Overlay) Set(ctx context.Context, n Node) error {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.record(n)
	ctx, cancel := context.WithTimeout(ctx, hnsTimeout)
	defer cancel()
	hosts, down, err := o.openAll(ctx)
	defer func() {
		for _, h := range hosts {
			_ = h.hns.Close()
		}
	}()

	if err != nil {
		return err
	}
	all := ends{unknown: down}
	for _, h := range hosts {
		all.known = append(all.known, h.self)
	}

	for _, h := range o.Linux {
		if subnet := o.subnets[h.Name]; subnet.IsValid() {
			all.known = append(all.known, end{
				subnet:  subnet,
				address: h.Address,
				router:  linuxRouter(h.Address),
			})
		}
	}

	for _, e := range o.elsewhere {
		if e.router == nil {
			all.unknown = append(all.unknown, e.subnet)
			continue
		}
		all.known = append(all.known, e)
	}

	errs := []error{o.tellAll(ctx, hosts)}
	for _, h := range hosts {
		if err := h.sync(ctx, all); err != nil {
			errs = append(errs, fmt.Errorf("set the remote subnets of node %q: %w", h.name, err))
		}
	}

	return errors.Join(append(errs, o.syncLinux(ctx, all))...)
}

// record replaces what is known of a node. It requires o.mu.
func (o *Overlay) record(n Node) {
	delete(o.subnets, n.Name)
	delete(o.told, n.Name)
	delete(o.elsewhere, n.Name)
	if !n.Pods.IsValid() {
		return
	}

	subnet := n.Pods.Masked()
	if o.isOwn(n.Name) {
		o.subnets[n.Name], o.told[n.Name] = subnet, n.Router
		return
	}
	e := end{subnet: subnet, address: n.Address}
	if mac, err := net.ParseMAC(n.Router); err == nil && len(mac) == 6 && mac[0]&1 == 0 {
		e.router = mac // else its machine has yet to publish it
	}

	o.elsewhere[n.Name] = e
}

func (o *Overlay) isOwn(name string) bool {
	for _, hosts := range [][]Host{o.Windows, o.Linux} {
		for _, h := range hosts {
			if h.Name == name {
				return true
			}
		}
	}
	return false
}

// openAll connects to the Windows hosts that have a subnet. down are the subnets of those whose HNS does not answer, or
// has no network yet.
func (o *Overlay) openAll(ctx context.Context) (hosts []*windowsHost, down []netip.Prefix, err error) {
	for _, h := range o.Windows {
		if !o.subnets[h.Name].IsValid() {
			continue
		}

		host, err := o.open(ctx, h)
		if err != nil {
			return hosts, nil, err
		}
		if host == nil {
			down = append(down, o.subnets[h.Name])
			continue
		}
		hosts = append(hosts, host)
	}

	return hosts, down, nil
}

// tellAll publishes the routers of this machine's hosts that the other machines do not know.
func (o *Overlay) tellAll(ctx context.Context, hosts []*windowsHost) error {
	if o.Tell == nil {
		return nil
	}
	routers := map[string]net.HardwareAddr{}
	for _, h := range hosts {
		routers[h.name] = h.self.router
	}

	for _, h := range o.Linux {
		if o.subnets[h.Name].IsValid() {
			routers[h.Name] = linuxRouter(h.Address)
		}
	}

	var errs []error
	for name, router := range routers {
		if o.told[name] == router.String() {
			continue
		}
		if err := o.Tell(ctx, name, router.String()); err != nil {
			errs = append(errs, fmt.Errorf("publish the router of node %q to the other machines: %w", name, err))
			continue
		}
		o.told[name] = router.String()
	}

	return errors.Join(errs...)
}
