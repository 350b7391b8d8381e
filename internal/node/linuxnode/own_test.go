package linuxnode

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/node/kubenode"
)

// TestKubernetesPath: a person's own kubelet is looked for at each start.
func TestKubernetesPath(t *testing.T) {
	c := Config{Config: kubenode.Config{Dir: t.TempDir()}}
	own := filepath.Join(kubenode.OwnDir(c.Dir), "kubelet")
	if got := c.kubernetesPath("kubelet"); got != "/opt/mullion/kubernetes/kubelet" {
		t.Errorf("upstream's: %s", got)
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(own, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := c.kubernetesPath("kubelet"); got != "/opt/mullion/own/kubelet" {
		t.Errorf("own: %s", got)
	}
	if got := c.kubernetesPath("kube-proxy"); got != "/opt/mullion/kubernetes/kube-proxy" {
		t.Errorf("kube-proxy beside it: %s", got)
	}
}
