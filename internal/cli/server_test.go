package cli

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/cli/clitest"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/controlplane/pki"
	"mullion.dev/mullion/internal/spec"
)

// TestServer brings up a control plane and prints the command by which others join, which join understands.
func TestServer(t *testing.T) {
	m := newMachine(t)
	m.calls.up.Preflight = func(context.Context, cluster.PreflightOptions) []preflight.Finding { return nil }
	kept := clitest.ServeSecrets(t)
	m.Write(m.Paths.AdminKubeconfig(), clitest.Kubeconfig(kept.URL))
	dir := filepath.Join(m.Paths.Data, "pki")
	if _, err := pki.Ensure(dir, pki.SANs{}, time.Now()); err != nil {
		t.Fatal(err)
	}

	m.calls.up.Up = func(_ context.Context, o cluster.UpOptions) (spec.Cluster, error) {
		o.Spec.Networking.APIServerPort = 6443
		m.Describe(func(c *spec.Cluster) { *c = o.Spec })
		return o.Spec, nil
	}

	got := m.Run("server", "--advertise-address", "192.0.2.10", "--kubeconfig", "none")
	got.Out = clitest.Untimed(got.Out)
	line := regexp.MustCompile(`(?m)^  (mullion join --server 192\.0\.2\.10:6443 --token [a-z0-9]{6}\.[a-z0-9]{16} ` +
		`--ca-cert-hash sha256:[0-9a-f]{64})$`).FindStringSubmatch(got.Out)
	if line == nil || got.Code != exit.OK {
		t.Fatalf("exit code %d, no command:\n%s%s", got.Code, got.Out, got.Err)
	}

	got.Has(t, exit.OK, "Cluster \"mullion\" is ready after N.Ns: 0 node(s). No kubeconfig was changed",
		"On another machine, as root, within "+bootstrap.DefaultTokenLife.String()+":",
		"Later: mullion token create --print-join-command")
	if len(kept.Kept) != 1 {
		t.Errorf("the API has %d tokens", len(kept.Kept))
	}

	// Nodes that Mullion does not run are named on a cluster that is up.
	m.Run("server", "--external-nodes", "192.0.2.77,192.0.2.96/28", "--kubeconfig", "none").Has(t, exit.OK, `Cluster "mullion" is ready`)
	if c, err := m.Paths.LoadSpec(); err != nil || len(c.Networking.External()) != 2 {
		t.Errorf("external nodes %v: %v", c.Networking.ExternalNodes, err)
	}
	m.Run("server", "--external-nodes", "win-server", "--kubeconfig", "none").Has(t, exit.Usage,
		`mullion: --external-nodes: networking.externalNodes[0]: "win-server" is not an IPv4 address`)

	m.Run("server", "--external-nodes", "", "--kubeconfig", "none").Has(t, exit.OK, `Cluster "mullion" is ready`)
	if c, err := m.Paths.LoadSpec(); err != nil || len(c.Networking.ExternalNodes) > 0 {
		t.Errorf("external nodes %v: %v", c.Networking.ExternalNodes, err)
	}

	const ownToken = "abcdef.0123456789abcdef"
	other := newMachine(t)
	other.Env.Euid = 1000
	other.Run(strings.Fields(line[1])[1:]...).Has(t, exit.Requirement,
		"mullion: this needs root, as it makes network namespaces")

	again := m.Run("token", "create", ownToken, "--print-join-command")
	want := strings.Replace(line[1], strings.Fields(line[1])[5], ownToken, 1) + "\n"
	again.Check(t, exit.OK, want, "")
}
