package imageregistry

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Server is the registry as a component. Ready means that it answers, and that tools find it.
type Server struct {
	*proc.Process

	config  Config
	publish func(context.Context) error
}

// New returns the component, not started. publish is called when the registry answers, and says in the cluster where it
// is.
func New(c Config, publish func(context.Context) error) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}

	return &Server{
		config:  c,
		publish: publish,
		Process: proc.New(proc.Spec{
			ID:     component.Sole(Name),
			Path:   c.Program,
			Args:   []string{"serve", c.confined().File(configFile)},
			Marker: c.Marker,
			// Since 3.0 it sends traces to a collector on its own address, unless it is told that there is none.
			Env:     []string{"GOGC=50", "OTEL_TRACES_EXPORTER=none"},
			LogPath: filepath.Join(c.LogDir, Name+".log"),
			Netns:   c.Netns,
			Cgroup:  c.Cgroup,
			Starter: c.confined().Start,
			Ready:   c.probe,
		}),
	}, nil
}

// Start writes what the registry reads, and starts it.
func (s *Server) Start(ctx context.Context) error {
	program := s.config.confined()
	if err := program.MakeFolder(); err != nil {
		return err
	}
	text := s.config.configText(rand.Text())
	if err := atomicfile.Write(program.File(configFile), []byte(text), confined.FileMode); err != nil {
		return err
	}
	if err := s.Process.Start(ctx); err != nil {
		return err
	}
	return s.publish(ctx)
}

// Describe says where the registry is.
func (s *Server) Describe() string { return "images are called " + s.config.Host + "/NAME:TAG" }

// Stop ends the registry and removes what it read; its images stay.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.Process.Stop(ctx), s.config.confined().RemoveFolder())
}

// Dial returns a function that connects to the registry of a fabric.
func Dial(netns string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return proc.DialIn(netns)(ctx, "tcp", Address()) }
}

// probe asks for the API of registries:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support
func (c Config) probe(ctx context.Context) error {
	return probe.Target{
		URL:     "http://" + Address() + "/v2/",
		Dial:    proc.DialIn(c.Netns),
		Timeout: 5 * time.Second,
	}.Check(ctx)
}
