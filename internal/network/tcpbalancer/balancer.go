// Package tcpbalancer owns one address behind which several servers stand: it hands each TCP connection to a server
// that answers, and sees no further into it. A health check says which servers answer. It knows neither what they
// serve nor in which network it runs.
package tcpbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Server is one of those behind the address.
type Server struct {
	Name    string
	Address string // host:port
}

// Config is what New needs. Zero durations and numbers take the defaults named here.
type Config struct {
	Servers []Server
	// Dial connects to a server.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Check returns nil if the server at address answers as it should. It has to return when ctx is over.
	Check func(ctx context.Context, address string) error
	// Interval is the pause between two checks of a server; 1 s.
	Interval time.Duration
	// DialTimeout bounds a connection to a server, after which the next one is tried; 2 s. CheckTimeout bounds a
	// check; 5 s.
	DialTimeout, CheckTimeout time.Duration
	// Fall is how many checks have to fail one after the other until a server that answered does so no longer; 3.
	// One that succeeds is enough for the other way.
	Fall int
	// HalfOpen bounds the life of a connection one side of which has ended; 5 minutes.
	HalfOpen time.Duration
	// Most is how many connections there may be, and MostOfOne how many from one address; 512 and 128. More are closed
	// as they come.
	Most, MostOfOne int
	Log             *slog.Logger
}

// State is how a server is.
type State struct {
	Server
	// Up says that it answers, and Err why not. Before the first check neither is set.
	Up  bool
	Err error
	// Connections is how many it has through the balancer.
	Connections int
}

// Balancer hands connections to servers. Serve may be called again when it has returned.
type Balancer struct {
	cfg Config

	mu      sync.Mutex
	servers []*server
	next    int // the server that is preferred among equals
	all     int
	from    map[netip.Addr]int
	refused int // connections that were too many, since the last was logged
}

// server is the state of one server, which the balancer's lock guards.
type server struct {
	Server
	up     bool
	failed int // checks, one after the other
	err    error
	// conns has what ends each of its connections.
	conns map[*link]struct{}
}

// New makes a balancer. It connects to nothing yet.
func New(cfg Config) *Balancer {
	cfg.Interval = cmp.Or(cfg.Interval, time.Second)
	cfg.DialTimeout = cmp.Or(cfg.DialTimeout, 2*time.Second)
	cfg.CheckTimeout = cmp.Or(cfg.CheckTimeout, 5*time.Second)
	cfg.Fall = cmp.Or(cfg.Fall, 3)
	cfg.HalfOpen = cmp.Or(cfg.HalfOpen, 5*time.Minute)
	cfg.Most, cfg.MostOfOne = cmp.Or(cfg.Most, 512), cmp.Or(cfg.MostOfOne, 128)
	b := &Balancer{cfg: cfg, from: map[netip.Addr]int{}}
	for _, s := range cfg.Servers {
		b.servers = append(b.servers, &server{Server: s, conns: map[*link]struct{}{}})
	}
	return b
}

// States returns how the servers are, in the order of Config.
func (b *Balancer) States() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := make([]State, len(b.servers))
	for i, s := range b.servers {
		states[i] = State{
			Server:      s.Server,
			Up:          s.up,
			Err:         s.err,
			Connections: len(s.conns),
		}
	}

	return states
}

// acceptPause is the pause after an Accept that failed, when the process has no descriptors left for example.
const acceptPause = 100 * time.Millisecond

// Serve checks the servers and hands them the connections of l until ctx ends. Then it closes l and every connection,
// and returns nil when all that it began is over.
func (b *Balancer) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for _, s := range b.servers {
		work.Go(func() { b.watch(ctx, s) })
	}

	stopped := context.AfterFunc(ctx, func() { l.Close() })
	defer stopped()

	for {
		client, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				client.Close()
			}
			return nil

		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections at %s: %w", l.Addr(), err)
		case err != nil:
			b.cfg.Log.Error("accept a connection", "address", l.Addr(), "error", err)
			wait(ctx, acceptPause)
			continue
		}

		if !b.admit(client) {
			client.Close()
			continue
		}
		work.Go(func() {
			defer b.dismiss(client)
			b.serve(ctx, client)
		})
	}
}

// wait waits, and returns false when ctx is over.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// source returns the address of a connection's other side.
func source(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{} // all of these together count as one
	}
	return at.Addr().Unmap()
}

// admit counts a connection; false means that there are too many.
func (b *Balancer) admit(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	at := source(c)
	if b.all >= b.cfg.Most || b.from[at] >= b.cfg.MostOfOne {
		if b.refused++; b.refused&(b.refused-1) == 0 { // the first, second, fourth, eighth …
			b.cfg.Log.Warn("a connection is one too many", "from", at, "connections", b.all, "of_one", b.from[at],
				"refused", b.refused)
		}
		return false
	}

	b.all++
	b.from[at]++
	return true
}

func (b *Balancer) dismiss(c net.Conn) {
	c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	at := source(c)
	b.all--
	if b.from[at]--; b.from[at] == 0 {
		delete(b.from, at)
	}
}

// serve connects a client with a server that answers, until one of them ends.
func (b *Balancer) serve(ctx context.Context, client net.Conn) {
	var tried []*server
	for {
		s := b.choose(tried)
		if s == nil {
			return
		}

		tried = append(tried, s)
		dialing, cancel := context.WithTimeout(ctx, b.cfg.DialTimeout)
		conn, err := b.cfg.Dial(dialing, "tcp", s.Address)
		cancel()
		if err != nil {
			b.cfg.Log.Debug("connect to a server", "name", s.Name, "error", err)
			continue
		}

		l := &link{client: client, server: conn}
		if !b.join(s, l) {
			conn.Close()
			continue
		}
		l.copy(ctx, b.cfg.HalfOpen)
		b.leave(s, l)
		return
	}
}

// choose returns the server that answers and has the fewest connections, of those that were not tried; nil if there is
// none.
func (b *Balancer) choose(tried []*server) *server {
	b.mu.Lock()
	defer b.mu.Unlock()
	var best *server
	for i := range b.servers {
		s := b.servers[(b.next+i)%len(b.servers)]
		if s.up && !slices.Contains(tried, s) && (best == nil || len(s.conns) < len(best.conns)) {
			best = s
		}
	}
	b.next++
	return best
}

// join makes a link one of the server's; false means that the server does not answer any longer.
func (b *Balancer) join(s *server, l *link) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.up {
		s.conns[l] = struct{}{}
	}
	return s.up
}

func (b *Balancer) leave(s *server, l *link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(s.conns, l)
}

// watch checks a server until ctx ends.
func (b *Balancer) watch(ctx context.Context, s *server) {
	for {
		checking, cancel := context.WithTimeout(ctx, b.cfg.CheckTimeout)
		err := b.cfg.Check(checking, s.Address)
		cancel()
		if ctx.Err() != nil {
			return
		}
		b.judge(s, err)
		if !wait(ctx, b.cfg.Interval) {
			return
		}
	}
}

// judge takes a check's result. The connections of a server that answers no longer are closed: their clients would wait
// for it, and connect to another one instead.
func (b *Balancer) judge(s *server, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if err == nil {
		if !s.up {
			b.cfg.Log.Info("a server answers", "name", s.Name, "address", s.Address)
		}
		s.up = true
		s.failed = 0
		s.err = nil
		return
	}

	s.failed++
	if s.up && s.failed < b.cfg.Fall {
		return
	}
	if s.up {
		b.cfg.Log.Warn("a server does not answer any longer", "name", s.Name, "address", s.Address, "error", err,
			"connections", len(s.conns))
	}

	s.up, s.err = false, err
	for l := range s.conns {
		l.close()
	}
}
