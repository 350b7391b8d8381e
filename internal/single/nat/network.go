package nat

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// Config says where the network is.
type Config struct {
	// Program is mullion-nat.
	Program string
	// Pins is the folder for the pins of the containers' namespaces, which is the network's alone.
	Pins string
	// Cgroup is the one of mullion-nat, which the network makes; "": the caller's.
	Cgroup string
	// Clusters begins the aliases of the machine's interfaces that lead to clusters.
	Clusters string
	Log      *slog.Logger
	// Output is where mullion-nat's complaints go; nil: nowhere.
	Output io.Writer
}

// Network is the network of single containers. Its methods may be called from several goroutines.
type Network struct {
	cfg Config

	mu      sync.Mutex
	subnet  netip.Prefix // with the gateway's address; it is chosen when mullion-nat starts first
	last    netip.Addr   // was given to a member last
	gateway *process     // nil: none runs
	members map[string]*Member
	closed  bool
}

// New returns the network, of which nothing is there yet.
func New(cfg Config) *Network { return &Network{cfg: cfg, members: map[string]*Member{}} }

// Container is a container that is to be a member.
type Container struct {
	ID string
	// Names are the ones by which members find it.
	Names []string
	Ports []Port
}

// Member is a container with its place in the network. Its Ports are those that were opened.
type Member struct {
	Container
	// Netns is the pin of its network namespace, Addr its address, and DNS the address where its questions are
	// answered: both are not valid in a namespace apart.
	Netns     string
	Addr, DNS netip.Addr

	network *Network
	tap     *os.File
	sockets []socket // of its ports
}

// Apart makes a network namespace with nothing but a loopback.
func (n *Network) Apart(id string) (*Member, error) {
	m := &Member{
		Container: Container{ID: id},
		Netns:     n.pin(id),
		network:   n,
	}
	if err := makeNamespace(m.Netns); err != nil {
		return nil, errors.Join(err, m.Leave())
	}
	return m, nil
}

// Join makes a network namespace that is connected, and opens the container's ports. The error is a *PortError for one
// that cannot be opened.
func (n *Network) Join(c Container) (_ *Member, err error) {
	m := &Member{
		Container: c,
		Netns:     n.pin(c.ID),
		network:   n,
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, m.Leave())
		}
	}()

	m.Ports = nil
	for _, p := range c.Ports {
		s, opened, err := p.open()
		if err != nil {
			return nil, err
		}
		m.sockets, m.Ports = append(m.sockets, s), append(m.Ports, opened)
	}

	if err := makeNamespace(m.Netns); err != nil {
		return nil, err
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.ensure(); err != nil {
		return nil, err
	}
	if err := n.place(m); err != nil {
		return nil, err
	}

	if m.tap, err = m.connect(n.subnet); err != nil {
		return nil, err
	}
	if err := n.gateway.attach(m); err != nil {
		return nil, fmt.Errorf("connect to the network: %w", err)
	}
	return m, nil
}

func (n *Network) pin(id string) string { return n.cfg.Pins + "/" + id }

// place gives a member the first address after the last that nobody has: one that was free just now may still be in
// somebody's connection or memory.
func (n *Network) place(m *Member) error {
	taken := map[netip.Addr]bool{}
	for _, other := range n.members {
		taken[other.Addr] = true
	}

	m.DNS = n.subnet.Addr()
	first := m.DNS.Next()
	addr := n.last
	for range 1 << (n.subnet.Addr().BitLen() - n.subnet.Bits()) {
		addr = addr.Next()
		// The last address of a subnet is for broadcasts.
		if !addr.IsValid() || !n.subnet.Contains(addr.Next()) {
			addr = first
		}
		if !taken[addr] {
			m.Addr, n.last = addr, addr
			n.members[m.ID] = m
			return nil
		}
	}

	return errors.New("connect to the network: all addresses are taken")
}

// Rename gives the member other names.
func (m *Member) Rename(names []string) error {
	n := m.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.members[m.ID] != m {
		return nil // it is apart, or gone
	}
	m.Names = names
	if n.gateway == nil || !n.gateway.runs() {
		return nil // the next one is told
	}
	return n.gateway.ask(wire.Request{Rename: &wire.Rename{ID: m.ID, Names: names}}, nil)
}

// Leave removes the member with its namespace, and closes its ports. Its container is gone. It is safe to repeat.
func (m *Member) Leave() error {
	n := m.network
	n.mu.Lock()
	if n.members[m.ID] == m {
		delete(n.members, m.ID)
		if n.gateway != nil && n.gateway.runs() {
			// One that does not do it is killed, and the next does not know the member.
			if err := n.gateway.ask(wire.Request{Detach: m.ID}, nil); err != nil {
				n.cfg.Log.Warn("the gateway of the network did not let go of a container", "container", m.ID, "error", err)
			}
		}
	}

	sockets, tap := m.sockets, m.tap
	m.sockets, m.tap = nil, nil
	n.mu.Unlock()

	var errs []error
	for _, s := range sockets {
		errs = append(errs, s.Close())
	}

	if tap != nil {
		errs = append(errs, tap.Close())
	}
	return errors.Join(errors.Join(errs...), netns.Remove(m.Netns))
}

// NoProgramError is the error of a mullion-nat that is not there.
type NoProgramError struct{ Program string }

func (e *NoProgramError) Error() string {
	return fmt.Sprintf("start the gateway of the network: there is no %s", e.Program)
}

// Built returns a *NoProgramError if mullion-nat is not there, for who would rather not begin then.
func (n *Network) Built() error {
	if _, err := os.Stat(n.cfg.Program); errors.Is(err, os.ErrNotExist) {
		return &NoProgramError{n.cfg.Program}
	}
	return nil
}

// Start starts mullion-nat, so that the first member does not wait for it.
func (n *Network) Start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ensure()
}

// Close ends mullion-nat. Nobody joins any more.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	gateway := n.gateway
	n.gateway = nil
	n.mu.Unlock()
	if gateway == nil {
		return nil
	}
	return gateway.end()
}

// ensure starts mullion-nat unless it runs, and tells it of the members. The caller has the lock.
func (n *Network) ensure() error {
	if n.closed {
		return errors.New("connect to the network: the engine ends")
	}
	if n.gateway != nil && n.gateway.runs() {
		return nil
	}

	if !n.subnet.IsValid() {
		subnet, err := freeSubnet()
		if err != nil {
			return err
		}
		n.subnet = subnet
	}

	if err := n.Built(); err != nil {
		return err
	}
	p, err := start(n.cfg)
	if err != nil {
		return fmt.Errorf("start the gateway of the network: %w", err)
	}

	err = p.ask(wire.Request{Begin: &wire.Begin{Subnet: n.subnet, Clusters: n.cfg.Clusters}}, nil)
	if err != nil {
		return errors.Join(fmt.Errorf("start the gateway of the network: %w", err), p.end())
	}
	for _, m := range n.members {
		if err := p.attach(m); err != nil { // the others are to have their network all the same
			n.cfg.Log.Warn("a container is not connected again", "container", m.ID, "error", err)
		}
	}

	if n.gateway != nil {
		_ = n.gateway.end() // it has ended, and who watches it finds another
	}
	n.gateway = p
	go n.watch(p)
	return nil
}

// startPause is the time between two attempts to start mullion-nat again, and how long it has to live to be started at
// once.
const startPause = time.Second

// watch starts mullion-nat again when it has ended: the connections are lost, the members are not.
func (n *Network) watch(p *process) {
	<-p.ended
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gateway != p || n.closed {
		return
	}

	n.gateway = nil
	n.cfg.Log.Warn("the gateway of the network has ended and is started again", "error", p.err)
	_ = p.end() // it has ended
	if time.Since(p.began) > startPause {
		n.again()
		return
	}
	n.againLater()
}

func (n *Network) againLater() {
	time.AfterFunc(startPause, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.again()
	})
}

// again starts mullion-nat, until that succeeds. The caller has the lock.
func (n *Network) again() {
	if n.closed {
		return
	}
	if err := n.ensure(); err != nil {
		n.cfg.Log.Warn("the gateway of the network does not start", "error", err)
		n.againLater()
	}
}
