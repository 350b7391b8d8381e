package cluster_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/spec"
)

// A node with a container runtime of its own needs that beside Mullion's programs, each of its files, and one with
// Mullion's pause image the files of that; others do not.
func TestHasPrograms(t *testing.T) {
	bin := t.TempDir()
	if err := cluster.HasPrograms(mixed(), bin); err != nil {
		t.Error(err)
	}

	paused := mixed()
	paused.Nodes[3].PauseImage = "registry.k8s.io/pause:3.10"
	if err := cluster.HasPrograms(paused, bin); err != nil {
		t.Error(err)
	}
	paused.Nodes[3].PauseImage = spec.OwnPauseImage
	err := cluster.HasPrograms(paused, bin)
	if missing, ok := errors.AsType[*cluster.MissingProgramError](err); !ok || missing.Make != "pause" {
		t.Errorf("without pause.exe: %v", err)
	}

	own := mixed()
	own.Nodes[3].Runtime = spec.RuntimeContainerd
	files := pauseimage.Programs(filepath.Join(bin, "windows"))
	for _, name := range winnode.ContainerdPrograms() {
		files = append(files, filepath.Join(bin, cluster.ContainerdPrograms, name))
	}
	for _, file := range files {
		err := cluster.HasPrograms(own, bin)
		if missing, ok := errors.AsType[*cluster.MissingProgramError](err); !ok || missing.Node != "win-2" ||
			!errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", file, err)
		}

		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(cluster.HasPrograms(own, bin), cluster.HasPrograms(paused, bin)); err != nil {
		t.Error(err)
	}
}
