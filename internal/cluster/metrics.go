package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/cluster/parts"
	"mullion.dev/mullion/internal/controlplane"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/metricsserver"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/process/component"
)

// metrics is metrics-server, unless the cluster is to do without.
func (c *composer) metrics() error {
	if !*c.Spec.Addons.MetricsServer {
		return nil
	}

	server, err := metricsserver.New(metricsserver.Config{
		Place:   c.addonPlace(metricsserver.Name),
		Address: c.APIServer.Addr(),
		PKIDir:  c.control.PKIDir(),
		Cluster: c.Spec.Name,
		Server:  c.control.Server(),
	}, c.registerMetrics)
	if err != nil {
		return err
	}

	c.add(server, component.Sole(controlplane.Bootstrap), parts.APIForwarder())
	return nil
}

// registerMetrics makes the API server send requests for metrics to metrics-server.
func (c *composer) registerMetrics(ctx context.Context) error {
	client, err := clientFor(c.Paths.AdminKubeconfig())
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(c.control.PKIDir(), pki.CA+".crt"))
	if err != nil {
		return fmt.Errorf("read authority: %w", err)
	}

	return bootstrap.MetricsAPI{
		Address: c.APIServer.Addr(),
		Port:    metricsserver.Port,
		Version: c.Spec.KubernetesVersion,
		CA:      ca,
	}.Apply(ctx, client)
}
