package clusterdns

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/resolvconf"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// lookEvery is how often the machine's resolv.conf is read: a laptop changes networks, but CoreDNS reads the file only
// once.
const lookEvery = 5 * time.Second

// Server is CoreDNS as a component. Ready means that it answers queries and knows the API's Services.
type Server struct {
	*proc.Process
	config   Config
	machine  func() resolvconf.Config
	log      *slog.Logger
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

	return &Server{
		config:  c,
		machine: resolvconf.Machine,
		log:     log,
		Process: proc.New(proc.Spec{
			ID:     component.Sole(Name),
			Path:   c.Program,
			Args:   []string{"-conf", c.corefile()},
			Marker: c.Marker,
			// Memory counts more than processor time here, as for the control plane.
			Env:     []string{"GOGC=50"},
			LogPath: filepath.Join(c.LogDir, Name+".log"),
			Netns:   c.Netns,
			Cgroup:  c.Cgroup,
			Starter: c.confined().Start,
			Ready:   c.probe,
		}),
	}, nil
}

// confined runs CoreDNS as a user of its own, with only the capability that port 53 needs.
func (c Config) confined() confined.Program {
	return confined.Program{
		Name:         Name,
		Dir:          c.dir(),
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
	if err := s.config.confined().MakeFolder(); err != nil {
		return err
	}
	if err := s.writeKubeconfig(); err != nil {
		return err
	}

	text, err := s.writeCorefile("")
	if err != nil {
		return err
	}
	if err := s.Process.Start(ctx); err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.watching.Go(func() { s.follow(run, text) })
	return nil
}

// Stop ends CoreDNS and removes its configuration.
func (s *Server) Stop(ctx context.Context) error {
	if s.cancel != nil {
		s.cancel()
		s.watching.Wait()
	}
	return errors.Join(s.Process.Stop(ctx), s.config.confined().RemoveFolder())
}

// follow writes the Corefile again when the machine's name servers have changed, until ctx is over; CoreDNS reloads it
// by itself.
func (s *Server) follow(ctx context.Context, text string) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		now, err := s.writeCorefile(text)
		if err != nil {
			s.log.Error("follow the machine's name servers", "error", err)
			continue
		}
		text = now
	}
}

// writeCorefile writes the Corefile if its text has to change from text, and returns the text in the file.
func (s *Server) writeCorefile(text string) (string, error) {
	upstreams := s.machine().Servers
	zones, problem := Zones(s.config.ZonesDir, s.config.Domain)
	now := s.config.Corefile(upstreams, zones)
	if problem != nil && problem.Error() != s.told {
		s.told = problem.Error()
		s.log.Warn("leave zones of the cluster's DNS out", "error", problem)
	}

	if now == text {
		return now, nil
	}
	if err := atomicfile.Write(s.config.corefile(), []byte(now), confined.FileMode); err != nil {
		return text, err
	}

	if len(upstreams) == 0 {
		s.log.Warn(
			"the machine's resolv.conf names no server that can be reached from the cluster: only names of the cluster resolve")
	} else {
		s.log.Info("the cluster's DNS forwards to", "servers", upstreams)
	}

	return now, nil
}

func (s *Server) writeKubeconfig() error {
	c := s.config
	bundle, err := pki.Open(c.PKIDir)
	if err != nil {
		return err
	}
	return bundle.WriteKubeconfigMode(c.kubeconfig(), confined.FileMode, pki.CoreDNS(), c.Cluster, c.Server)
}
