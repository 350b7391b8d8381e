package version_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/version"
)

func TestKubernetesIsTheModulesVersion(t *testing.T) {
	for _, file := range []string{"../../../upstream/cluster/kubernetes/go.mod", "../../../Makefile"} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		want := "k8s.io/kubernetes " + version.Kubernetes
		if strings.HasSuffix(file, "Makefile") {
			want = "KUBE_VERSION := " + version.Kubernetes
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %q", file, want)
		}
	}
}
