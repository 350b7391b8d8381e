//go:build cluster

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
)

// TestVersionSkew brings up a cluster of the version that Mullion comes with. Beside a Linux and a Windows node of that
// version it has such nodes of each older version that lies beside mullion (`make test-skew` builds two). The test then
// tests the network between all of them.
func TestVersionSkew(t *testing.T) {
	needs(t, ownCluster("E2E_DATA_DIR names a cluster of one version"))

	c := newCluster(t)
	all, err := bundle.Versions(c.bin)
	if err != nil {
		t.Fatal(err)
	}

	older := slices.DeleteFunc(all, func(v string) bool {
		return v == version.Kubernetes || bundle.Skew(version.Kubernetes, v) != nil
	})
	if len(older) == 0 {
		t.Skip("no older version of Kubernetes lies beside mullion: make test-skew builds two")
	}

	want := map[string]string{"linux-1": version.Kubernetes, "win-1": version.Kubernetes}
	nodes := "- os: linux\n- os: windows\n  windowsVersion: ltsc2022\n"
	for i, v := range older {
		nodes += fmt.Sprintf("- os: linux\n  kubernetesVersion: %[1]q\n- os: windows\n  windowsVersion: ltsc2022\n"+
			"  kubernetesVersion: %[1]q\n", strings.TrimPrefix(v, "v"))
		want[fmt.Sprintf("linux-%d", i+2)], want[fmt.Sprintf("win-%d", i+2)] = v, v
	}

	c.bringUp(t, "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: skew\nnodes:\n"+nodes)
	out, err := c.mullion(t.Context(), t, "kubectl", "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{"\n"}{end}`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	got := map[string]string{}
	for line := range strings.Lines(out) {
		name, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[name] = v
	}

	for name, v := range want {
		if got[name] != v {
			t.Errorf("kubelet of %s has version %q, want %s", name, got[name], v)
		}
	}

	if out, err := c.mullion(t.Context(), t, "net", "test"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
