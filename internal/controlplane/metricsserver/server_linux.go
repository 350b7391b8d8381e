package metricsserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// Server is metrics-server as a component. Ready means that it answers, knows the cluster's nodes and pods, and that
// the API has been registered; figures come with the first round of kubelets, within 15 s.
type Server struct {
	*proc.Process
	config   Config
	register func(context.Context) error
}

// New returns the component, not started. register is called when the server answers, and puts its API in place: a
// registered API that nobody answers is a burden to every client.
func New(c Config, register func(context.Context) error) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}

	return &Server{
		config:   c,
		register: register,
		Process: proc.New(proc.Spec{
			ID:     component.Sole(Name),
			Path:   c.Program,
			Args:   c.Flags(),
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

// registerEvery is the pause before another try to register.
const registerEvery = 200 * time.Millisecond

// Start writes what the server reads, starts it, and registers its API.
func (s *Server) Start(ctx context.Context) error {
	if err := s.config.confined().MakeFolder(); err != nil {
		return err
	}
	if err := s.config.writeFiles(); err != nil {
		return err
	}
	if err := s.Process.Start(ctx); err != nil {
		return err
	}

	tick := time.NewTicker(registerEvery)
	defer tick.Stop()

	for {
		err := s.register(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop ends the server and removes what it read; the registration stays, as the cluster's state.
func (s *Server) Stop(ctx context.Context) error {
	return errors.Join(s.Process.Stop(ctx), s.config.confined().RemoveFolder())
}

// writeFiles writes the kubeconfig, and copies the certificates that the program's user cannot read at their place.
func (c Config) writeFiles() error {
	bundle, err := pki.Open(c.PKIDir)
	if err != nil {
		return err
	}
	if err := bundle.WriteKubeconfigMode(c.confined().File(kubeconfigFile), confined.FileMode, pki.MetricsServer(),
		c.Cluster, c.Server); err != nil {
		return err
	}

	for _, f := range []struct{ name, from string }{
		{caFile, bundle.Cert(pki.CA)},
		{frontProxyCAFile, bundle.Cert(pki.FrontProxyCA)},
		{certFile, bundle.Cert(pki.MetricsServerServing)},
		{keyFile, bundle.Key(pki.MetricsServerServing)},
	} {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return fmt.Errorf("copy certificate of metrics-server: %w", err)
		}
		if err := atomicfile.Write(c.confined().File(f.name), data, confined.FileMode); err != nil {
			return err
		}
	}

	return nil
}

// probe asks whether the server is ready, except for figures, which it has only after its first round of kubelets.
func (c Config) probe(ctx context.Context) error {
	return probe.Target{
		URL:        c.url("/readyz?exclude=metric-storage-ready"),
		Dial:       proc.DialIn(c.Netns),
		CAFile:     c.confined().File(caFile),
		ServerName: pki.MetricsServerHost,
	}.Check(ctx)
}
