package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMissing: each program that is not there is named, and nothing else.
func TestMissing(t *testing.T) {
	b := At(t.TempDir(), "v1.36.3")
	if got := b.Missing(); len(got) != 9 {
		t.Errorf("of an empty folder %d programs are missing, want 9: %v", len(got), got)
	}
	for _, dir := range []string{b.Server(), b.Node()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl",
	} {
		if err := os.WriteFile(filepath.Join(b.Server(), program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.Node(), "kubelet.exe"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	got := b.Missing()
	if len(got) != 1 || !strings.Contains(got[0], "/v1.36.3/node/bin/kube-proxy.exe") {
		t.Errorf("without kube-proxy.exe: %v", got)
	}
	// a link that leads nowhere is no program
	if err := os.Symlink("hyperkube", filepath.Join(b.Node(), "kube-proxy.exe")); err != nil {
		t.Fatal(err)
	}
	if got := b.Missing(); len(got) != 1 {
		t.Errorf("a link to nothing: %v", got)
	}
}
