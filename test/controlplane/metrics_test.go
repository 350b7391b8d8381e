//go:build kernel

package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/controlplane/addon"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/metricsserver"
	"mullion.dev/mullion/internal/controlplane/pki"
)

// testMetrics runs the real metrics-server beside the control plane, and asks the API server for what it answers: of no
// nodes, nothing.
func testMetrics(t *testing.T, p *plane, admin *kubeclient.Client) {
	t.Helper()
	program, err := filepath.Abs("../../bin/metrics-server")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("run `make build` first: %v", err)
	}

	ca, err := os.ReadFile(filepath.Join(p.config.PKIDir(), pki.CA+".crt"))
	if err != nil {
		t.Fatal(err)
	}

	api := bootstrap.MetricsAPI{
		Address: p.config.Address.Addr(),
		Port:    metricsserver.Port,
		Version: p.config.Version,
		CA:      ca,
	}

	server, err := metricsserver.New(metricsserver.Config{
		Place: addon.Place{
			Program: program,
			RunDir:  p.config.RunDir,
			LogDir:  p.config.LogDir,
			Marker:  p.config.Marker,
			Netns:   p.config.Netns,
		},
		Address: p.config.Address.Addr(),
		PKIDir:  p.config.PKIDir(),
		Cluster: "mullion",
		Server:  p.config.Server(),
	}, func(ctx context.Context) error { return api.Apply(ctx, admin) })
	if err != nil {
		t.Fatal(err)
	}

	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()

	checkConfined(t, server.State().PID, metricsserver.Name, metricsserver.UserID, "0000000000000000")
	eventually(t, "the metrics API", func() error {
		answer, err := admin.RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").DoRaw(
			t.Context())
		if err == nil && !strings.Contains(string(answer), `"kind":"NodeMetricsList"`) {
			err = fmt.Errorf("got %s", answer)
		}
		return err
	})

	own := p.client(t, filepath.Join(p.config.RunDir, metricsserver.Name, "kubeconfig"))
	if _, err := own.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("metrics-server lists secrets: got %v, want forbidden", err)
	}
}
