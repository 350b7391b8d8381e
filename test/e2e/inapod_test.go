//go:build cluster

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
)

// aroundYAML is the cluster in whose Linux node examples/in-a-pod runs.
const aroundYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-around
networking:
  underlaySubnet: 10.201.0.0/24
  podSubnet: 10.202.0.0/16
  serviceSubnet: 10.203.0.0/16
nodes:
- os: linux
`

// TestInAPod runs the container image of MULLION_IMAGE, an archive that `make image` made, as a StatefulSet of another
// cluster, as examples/in-a-pod has it: a Windows node comes up in the pod and runs a program, and all of it is there
// again when the pod was replaced.
func TestInAPod(t *testing.T) {
	archive := os.Getenv("MULLION_IMAGE")
	if archive == "" {
		t.Skip("needs MULLION_IMAGE: make test-image")
	}

	c := newCluster(t)
	c.bringUp(t, aroundYAML)
	said := c.must(t, "image", "load", archive)
	name := regexp.MustCompile(`loaded (\S+)`).FindStringSubmatch(said)
	if name == nil {
		t.Fatalf("mullion image load says %q", said)
	}

	text, err := os.ReadFile(filepath.Join(built.Repository(), "examples", "in-a-pod", "statefulset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(c.home, "statefulset.yaml")
	filled := strings.Replace(string(text), "mullion:VERSION", name[1], 1)
	if err := os.WriteFile(manifest, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "kubectl", "apply", "-f", manifest)
	inside := func(args ...string) string {
		return c.must(t, append([]string{"kubectl", "exec", "mullion-0", "--", "mullion"}, args...)...)
	}

	ready := func() {
		t.Helper()
		began := time.Now()
		c.must(t, "kubectl", "rollout", "status", "statefulset/mullion", "--timeout=10m")
		t.Logf("ready after %s", time.Since(began).Round(time.Second))
	}
	ready()
	t.Log(inside("kubectl", "get", "nodes", "-o", "wide"))
	inside("image", "load", "/usr/lib/mullion/webserver.tar")
	inside("kubectl", "apply", "-f", "/usr/lib/mullion/win-webserver.yaml")
	served := func() {
		t.Helper()
		inside("kubectl", "rollout", "status", "deployment/win-webserver", "--timeout=5m")
		if out := inside("kubectl", "exec", "deployment/win-webserver", "--", "cmd", "/c", "ver"); !strings.Contains(out, "10.0.20348") {
			t.Errorf("Windows in the pod says %q", out)
		}
	}
	served()
	c.must(t, "kubectl", "delete", "pod", "mullion-0", "--timeout=3m")
	ready()
	served()
}
