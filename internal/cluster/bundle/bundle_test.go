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

// TestSpareEtcd: a bundle without etcd has that of another, if there is another.
func TestSpareEtcd(t *testing.T) {
	dir := t.TempDir()
	b, spare := At(dir, "v1.35.8"), At(dir, "v1.36.3")
	for _, d := range []string{b.Server(), spare.Server()} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	own, other := filepath.Join(b.Server(), "etcd"), filepath.Join(spare.Server(), "etcd")
	if b.Etcd() != own || b.HasEtcd() {
		t.Errorf("without another: %s", b.Etcd())
	}
	b.Spare = spare.Dir
	if b.Etcd() != other || b.Missing()[0] != other {
		t.Errorf("another without etcd either: %s, %v", b.Etcd(), b.Missing())
	}

	for _, place := range []string{other, own} {
		if err := os.WriteFile(place, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if b.Etcd() != place || strings.Contains(strings.Join(b.Missing(), " "), "etcd") {
			t.Errorf("etcd %s, want %s; missing %v", b.Etcd(), place, b.Missing())
		}
	}
}
