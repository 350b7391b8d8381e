package clusterdns

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// lookEvery is how often the machine's resolv.conf is read: a laptop changes networks, but CoreDNS reads the file only
// once.
const lookEvery = 5 * time.Second

// Server is CoreDNS as a component. Ready means that it answers queries and knows the API's Services.
type Server struct {
	*addon.Server

	config   Config
	machine  func() resolvconf.Config
	log      *slog.Logger
	text     string // what the Corefile has
	told     string // the last problem with zones that was logged
	cancel   context.CancelFunc
	watching sync.WaitGroup
}

// New returns the component, not started.
func New(c Config, log *slog.Logger) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}

	s := &Server{
		config:  c,
		machine: resolvconf.Machine,
		log:     log,
	}
	s.Server = addon.New(c.Place, addon.Program{
		Confined: c.confined(),
		Args:     []string{"-conf", c.corefile()},
		Ready:    c.probe,
		Write:    s.writeFiles,
	})

	return s, nil
}

// confined runs CoreDNS as a user of its own, with only the capability that port 53 needs.
func (c Config) confined() confined.Program {
	return confined.Program{
		Name:         Name,
		Dir:          c.Dir(Name),
		UserID:       UserID,
		Capabilities: []uintptr{unix.CAP_NET_BIND_SERVICE},
	}
}

// probe asks CoreDNS whether all its plugins are ready, and then for a name that every cluster has, because its plugins
// are ready a moment before it listens.
func (c Config) probe(ctx context.Context) error {
	ready := probe.Target{
		URL:  "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(readyPort)) + "/ready",
		Dial: proc.DialIn(c.Netns),
	}
	if err := ready.Check(ctx); err != nil {
		return err
	}

	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return proc.DialIn(c.Netns)(ctx, network, netip.AddrPortFrom(c.Address, Port).String())
	}}
	_, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+c.Domain+".")
	return err
}

// Start writes the configuration, starts CoreDNS and, in the background, follows changes of the machine's name servers.
func (s *Server) Start(ctx context.Context) error {
	if err := s.Server.Start(ctx); err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.watching.Go(func() { s.follow(run) })
	return nil
}

// Stop ends CoreDNS and removes its configuration.
func (s *Server) Stop(ctx context.Context) error {
	if s.cancel != nil {
		s.cancel()
		s.watching.Wait()
	}
	return s.Server.Stop(ctx)
}

// follow writes the Corefile again when the machine's name servers have changed, until ctx is over; CoreDNS reloads it
// by itself.
func (s *Server) follow(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		if err := s.writeCorefile(); err != nil {
			s.log.Error("follow the machine's name servers", "error", err)
		}
	}
}

// writeFiles writes what CoreDNS reads at its start.
func (s *Server) writeFiles() error {
	s.text = "" // the folder is new
	return errors.Join(s.writeKubeconfig(), s.writeCorefile())
}

// writeCorefile writes the Corefile if its text has to change.
func (s *Server) writeCorefile() error {
	upstreams := s.machine().Servers
	zones, problem := Zones(s.config.ZonesDir, s.config.Domain)
	now := s.config.Corefile(upstreams, zones)
	if problem != nil && problem.Error() != s.told {
		s.told = problem.Error()
		s.log.Warn("leave zones of the cluster's DNS out", "error", problem)
	}

	if now == s.text {
		return nil
	}
	if err := atomicfile.Write(s.config.corefile(), []byte(now), confined.FileMode); err != nil {
		return err
	}
	s.text = now

	if len(upstreams) == 0 {
		s.log.Warn(
			"the machine's resolv.conf names no server that can be reached from the cluster: only names of the cluster resolve")
	} else {
		s.log.Info("the cluster's DNS forwards to", "servers", upstreams)
	}

	return nil
}

func (s *Server) writeKubeconfig() error {
	c := s.config
	bundle, err := pki.Open(c.PKIDir)
	if err != nil {
		return err
	}
	return bundle.WriteKubeconfigMode(c.kubeconfig(), confined.FileMode, pki.CoreDNS(), c.Cluster, c.Server)
}
