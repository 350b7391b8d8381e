package metricsserver

import (
	"context"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/confined"
	"mullion.dev/mullion/internal/process/probe"
	"mullion.dev/mullion/internal/process/proc"
)

// New returns metrics-server as a component, not started. Ready means that it answers, knows the cluster's nodes and
// pods, and that its API is registered; figures come with the first round of kubelets, within 15 s. register puts the
// API in place when the server answers: a registered API that nobody answers is a burden to every client.
func New(c Config, register func(context.Context) error) (*addon.Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}

	return addon.New(c.Place, addon.Program{
		Confined: c.confined(),
		Args:     c.Flags(),
		Ready:    c.probe,
		Write:    c.writeFiles,
		Tell:     register,
	}), nil
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
