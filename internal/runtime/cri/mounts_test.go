package cri

import (
	"os"
	"path/filepath"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestMountsMakeMissingSources: a hostPath volume without a type may name a folder that is not there yet.
func TestMountsMakeMissingSources(t *testing.T) {
	drive := t.TempDir()
	if err := os.WriteFile(filepath.Join(drive, "file"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{cfg: Config{HostPath: func(p string) (string, error) { return filepath.Join(drive, p), nil }}}
	mounts, err := s.mounts(&runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{
		{HostPath: "new/deeper", ContainerPath: `C:\new`}, {HostPath: "file", ContainerPath: `C:\file`},
	}})
	if err != nil || len(mounts) != 2 {
		t.Fatalf("mounts: %v, %v", mounts, err)
	}
	if info, err := os.Stat(mounts[0].Source); err != nil || !info.IsDir() {
		t.Errorf("the missing source: %v, %v", info, err)
	}
	if data, err := os.ReadFile(mounts[1].Source); err != nil || string(data) != "kept" {
		t.Errorf("the source that is there: %q, %v", data, err)
	}
	if _, err := s.mounts(&runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{{
		HostPath:      "file/below",
		ContainerPath: `C:\x`,
	}}}); err == nil {
		t.Error("a folder below a file was made")
	}
}
