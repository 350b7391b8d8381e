package imageregistry

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Server is the registry as a component. Ready means that it answers, and that tools find it.
type Server struct {
	*addon.Server

	host string
}

// New returns the component, not started. publish says in the cluster where the registry is; see addon.Program.
func New(c Config, publish func(context.Context) error) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}

	return &Server{
		host: c.Host,
		Server: addon.New(c.Place, addon.Program{
			Confined: c.confined(),
			Args:     []string{"serve", c.confined().File(configFile)},
			// Since 3.0 it sends traces to a collector on its own address, unless it is told that there is none.
			Env:   []string{"OTEL_TRACES_EXPORTER=none"},
			Ready: c.probe,
			Write: c.writeConfig,
			Tell:  publish,
		}),
	}, nil
}

func (c Config) writeConfig() error {
	text := c.configText(rand.Text())
	return atomicfile.Write(c.confined().File(configFile), []byte(text), confined.FileMode)
}

// Describe says where the registry is.
func (s *Server) Describe() string { return "images are called " + s.host + "/NAME:TAG" }

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
