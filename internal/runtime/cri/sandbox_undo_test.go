package cri

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// TestRunSandboxRemovesItsFolder: the DNS configuration cannot be written into the folder that was made for it.
func TestRunSandboxRemovesItsFolder(t *testing.T) {
	dir := t.TempDir()
	sandboxes, err := store.Open[store.Sandbox](filepath.Join(dir, "sandboxes"))
	if err != nil {
		t.Fatal(err)
	}

	s := &Server{cfg: Config{StateDir: dir}, sandboxes: sandboxes}
	sb := store.Sandbox{ID: "web", Config: store.SandboxConfig{PodSandboxConfig: &runtimeapi.PodSandboxConfig{}}}
	if err := os.MkdirAll(s.resolvConf(sb.ID), 0o700); err != nil { // a folder where the file is to be
		t.Fatal(err)
	}
	if err := s.runSandbox(t.Context(), sb, choose(s, sb)); err == nil {
		t.Error("no error")
	}

	if _, err := os.Stat(s.containerDir(sb.ID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder of the pod: %v, want none", err)
	}
	if _, err := sandboxes.Get(sb.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("checkpoint: %v, want none", err)
	}
}
