package cri

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/wine"
)

// TestImageVolumes: a pod's mount is in the stead of the image's volume at its place, however either is written.
func TestImageVolumes(t *testing.T) {
	var img image.Info
	img.Config.Volumes = map[string]struct{}{`C:\Data`: {}, "/app/cache": {}, `E:`: {}, `d:\x`: {}}
	mounts := []engine.Mount{{Target: "/data/"}, {Target: `D:\X`}, {Target: `C:\app`}}
	if diff := cmp.Diff([]string{"/app/cache", "E:"}, imageVolumes(img, mounts)); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
}

// TestMountsOpensSources: what is opened is what is mounted, and a mount that cannot be made leaves nothing open.
func TestMountsOpensSources(t *testing.T) {
	drive := t.TempDir()
	if err := os.WriteFile(filepath.Join(drive, "file"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}

	var opened []*os.File
	s := &Server{cfg: Config{OpenSource: func(p string) (*os.File, error) {
		file, err := wine.OpenSource(drive, p, VolumePatterns(), wine.Mounted{})
		if err == nil {
			opened = append(opened, file)
		}
		return file, err
	}}}

	mounts, err := s.mounts(&runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{
		{HostPath: `C:\new\deeper`, ContainerPath: `C:\new`}, {HostPath: `C:\file`, ContainerPath: `C:\file`},
	}})
	if err != nil || len(mounts) != 2 {
		t.Fatalf("mounts: %v, %v", mounts, err)
	}
	if info, err := mounts[0].Source.Stat(); err != nil || !info.IsDir() || info.Mode().Perm() != 0o777 {
		t.Errorf("the missing source: %v, %v", info, err)
	}

	if info, err := mounts[1].Source.Stat(); err != nil || info.Size() != 4 {
		t.Errorf("the source that is there: %v, %v", info, err)
	}

	closeSources(mounts)
	opened = nil
	if _, err := s.mounts(&runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{
		{HostPath: `C:\new`, ContainerPath: `C:\new`}, {HostPath: `C:\file\below`, ContainerPath: `C:\x`},
	}}); err == nil {
		t.Error("a folder below a file was made")
	}

	if len(opened) != 1 || !errors.Is(opened[0].Close(), os.ErrClosed) {
		t.Errorf("opened and perhaps not closed: %v", opened)
	}
}
