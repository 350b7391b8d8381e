//go:build cluster

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/test/built"
)

// dualYAML uses other subnets than the other tests' clusters. Windows Server 2019 has no dual stack, so that node has
// IPv4 only.
const dualYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-dual
networking:
  enableDSR: true
  underlaySubnet: 10.207.0.0/24,fd00:207::/64
  podSubnet: 10.206.0.0/16,fd00:206::/56
  serviceSubnet: 10.98.0.0/16,fd00:98::/112
nodes:
- windowsVersion: ltsc2022
- windowsVersion: ltsc2025
- windowsVersion: ltsc2019
- os: linux
`

// TestDualStack brings up a cluster of both families, runs testdata/dual in it and carries out the flows that Windows
// documents, over both and with direct server return.
func TestDualStack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	bin := built.Dir(t)
	dir := t.TempDir()
	f := fixture{
		bin:         bin,
		data:        filepath.Join(dir, "data"),
		kubeconfig:  filepath.Join(dir, "kubeconfig"),
		home:        dir,
		nodeAddress: new(string),
	}
	given := os.Getenv("E2E_DATA_DIR") // a cluster that is up
	if given != "" {
		f.data, f.kubeconfig = given, filepath.Join(given, "e2e-kubeconfig")
	} else {
		file := filepath.Join(dir, "cluster.yaml")
		if err := os.WriteFile(file, []byte(dualYAML), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.takeDown(t) })
		if out, err := f.mullion(t.Context(), t, "up", "-f", file); err != nil {
			logs(t, f)
			t.Fatalf("mullion up: %v\n%s", err, out)
		}
	}
	out, err := f.mullion(t.Context(), t, "kubectl", "get", "nodes", "-o", "jsonpath={.items[*].spec.podCIDRs}")
	if dual := strings.Contains(out, "::"); err != nil || !dual && given == "" {
		t.Fatalf("the cluster is not of both families: %s, %v", out, err)
	} else if !dual {
		t.Skip("E2E_DATA_DIR names a cluster of one family")
	}
	f.image(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "dual"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "MULLION_DATA_DIR="+f.data, "KUBECONFIG="+f.kubeconfig,
				"PATH="+f.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
			return nil
		},
	})
	if t.Failed() {
		logs(t, f)
	}
	f.netTest(t, "l2bridge")
}
