package kubenode

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestOwnProgram(t *testing.T) {
	dir := t.TempDir()
	name := ProgramName(Kubelet, spec.Windows)
	if file, ok := OwnProgram(dir, name); ok || file != filepath.Join(dir, "own", "kubelet.exe") {
		t.Errorf("without one: %s, %v", file, ok)
	}
	if err := os.MkdirAll(OwnDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(OwnDir(dir), ProgramName(KubeProxy, spec.Linux)), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if file, ok := OwnProgram(dir, "kube-proxy"); !ok || file != filepath.Join(dir, "own", "kube-proxy") {
		t.Errorf("with one: %s, %v", file, ok)
	}
	if _, ok := OwnProgram(dir, name); ok {
		t.Error("the other's is taken")
	}
}

// TestCopyProgram replaces what is there: a file of several names keeps its content under the others, a link is not
// followed, and one that leads out of the node is an error.
func TestCopyProgram(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	file := func(path string) (string, error) { return filepath.Join(root, path), nil }
	n := Node{
		OS:   spec.Linux,
		Root: root,
		File: file,
	}

	program := filepath.Join(outside, "kubelet")
	other, to := filepath.Join(outside, "other"), filepath.Join(root, "k", "own", "kubelet")
	for path, text := range map[string]string{program: "new", other: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for name, plant := range map[string]func() error{
		"nothing": func() error { return nil },
		"file":    func() error { return os.Link(other, to) },
		"link":    func() error { return os.Symlink(other, to) },
		"folder":  func() error { return os.Mkdir(to, 0o755) },
	} {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Fatal(err)
		}

		if err := n.CopyProgram(program, "/k/own/kubelet"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Lstat(to)
		if text, _ := os.ReadFile(to); err != nil || string(text) != "new" || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
			t.Errorf("%s: %q, %v, %v", name, text, info, err)
		}

		if text, err := os.ReadFile(other); err != nil || string(text) != "old" {
			t.Errorf("%s: another file has %q, %v", name, text, err)
		}
	}

	if err := os.RemoveAll(filepath.Join(root, "k")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "k")); err != nil {
		t.Fatal(err)
	}
	if err := n.CopyProgram(program, "/k/own/kubelet"); err == nil {
		t.Error("a link out of the node was followed")
	}
}
