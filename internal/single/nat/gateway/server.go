package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/single/nat/wire"
)

// engineFile is the number of the file that leads to the engine, which started this process.
const engineFile = 3

// Serve answers the engine until that is gone.
func Serve() error {
	if err := boundMemory(); err != nil {
		return fmt.Errorf("bound the memory: %w", err)
	}
	file := os.NewFile(engineFile, "engine")
	engine, err := wire.Open(file)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return serve(engine)
}

// boundMemory has the process collect garbage in time, and end where it takes far more than it may have, also on a
// machine that counts no memory by cgroups. Go maps more than it uses.
func boundMemory() error {
	debug.SetMemoryLimit(wire.Memory / 8 * 7)
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return err
	}
	most := min(now.Max, 2*wire.Memory)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most})
}

// server has the containers.
type server struct {
	guard   guard
	gateway netip.Addr
	subnet  netip.Prefix

	// Slots of all containers.
	outgoing, incoming, flowsOut, flowsIn chan struct{}

	mu         sync.RWMutex
	containers map[string]*container
	addrs      map[netip.Addr]*container
}

func newServer() *server {
	return &server{
		outgoing:   make(chan struct{}, mostOutgoingOfAll),
		incoming:   make(chan struct{}, mostIncomingOfAll),
		flowsOut:   make(chan struct{}, mostFlowsOutOfAll),
		flowsIn:    make(chan struct{}, mostFlowsInOfAll),
		containers: map[string]*container{},
		addrs:      map[netip.Addr]*container{},
	}
}

// serve answers an engine until that is gone.
func serve(engine *wire.Conn) error {
	s := newServer()
	defer s.close()

	for {
		var r wire.Request
		file, err := engine.Receive(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		var answer wire.Answer
		if err := s.answer(r, file); err != nil {
			answer.Error = err.Error()
		}
		if err := engine.Send(answer, nil); err != nil {
			return err
		}
	}
}

// answer carries out a request, and takes its file.
func (s *server) answer(r wire.Request, file *os.File) error {
	if (r.Attach != nil || r.Publish != nil) == (file == nil) {
		return errors.New("a request has a file that it does not need, or none that it needs")
	}

	switch {
	case r.Begin != nil:
		s.subnet, s.gateway = r.Begin.Subnet.Masked(), r.Begin.Subnet.Addr()
		s.guard = guard{clusters: r.Begin.Clusters}
		return nil

	case r.Attach != nil:
		return s.attach(*r.Attach, file)
	case r.Publish != nil:
		defer file.Close() // the socket is copied
		s.mu.RLock()
		c := s.containers[r.Publish.ID]
		s.mu.RUnlock()
		if c == nil {
			return fmt.Errorf("publish a port of container %q: there is none", r.Publish.ID)
		}
		return c.publish(*r.Publish, file)

	case r.Rename != nil:
		return s.rename(*r.Rename)
	case r.Detach != "":
		s.detach(r.Detach)
		return nil
	}

	return errors.New("a request asks for nothing")
}

func (s *server) attach(a wire.Attach, tap *os.File) error {
	if s.containers[a.ID] != nil || s.addrs[a.Addr] != nil { // they change by requests alone
		return errors.Join(fmt.Errorf("connect container %q: there is one with its id or address", a.ID), tap.Close())
	}
	c, err := newContainer(s, a, tap)
	if err != nil {
		return errors.Join(err, tap.Close())
	}
	s.mu.Lock()
	s.containers[a.ID], s.addrs[a.Addr] = c, c
	s.mu.Unlock()
	return nil
}

func (s *server) rename(r wire.Rename) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[r.ID]
	if c == nil {
		return fmt.Errorf("rename container %q: there is none", r.ID)
	}
	c.names = r.Names
	return nil
}

func (s *server) detach(id string) {
	s.mu.Lock()
	c := s.containers[id]
	delete(s.containers, id)
	if c != nil {
		delete(s.addrs, c.addr)
	}
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}

func (s *server) close() {
	for id := range s.containers { // nobody attaches any more
		s.detach(id)
	}
}

// peer returns the container with an address, nil if there is none.
func (s *server) peer(addr netip.Addr) *container {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.addrs[addr]
}

// named returns the address of the container with a name, as DNS has it, in any case; of several the lowest.
func (s *server) named(name string) (found netip.Addr, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.containers {
		has := slices.ContainsFunc(c.names, func(own string) bool { return strings.EqualFold(own, name) })
		if has && (!ok || c.addr.Less(found)) {
			found, ok = c.addr, true
		}
	}
	return found, ok
}
