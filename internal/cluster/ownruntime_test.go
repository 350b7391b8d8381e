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

// A node with a container runtime of its own needs that beside Mullion's programs, each of its files; others do not.
func TestHasRuntimes(t *testing.T) {
	bin := t.TempDir()
	if err := cluster.HasRuntimes(mixed(), bin); err != nil {
		t.Error(err)
	}

	own := mixed()
	own.Nodes[3].Runtime = spec.RuntimeContainerd
	files := pauseimage.Programs(filepath.Join(bin, "windows"))
	for _, name := range winnode.ContainerdPrograms() {
		files = append(files, filepath.Join(bin, cluster.ContainerdPrograms, name))
	}
	for _, file := range files {
		err := cluster.HasRuntimes(own, bin)
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

	if err := cluster.HasRuntimes(own, bin); err != nil {
		t.Error(err)
	}
}
