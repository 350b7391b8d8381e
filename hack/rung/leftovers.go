package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/layout"
)

// takeDownLeftovers takes down the clusters that killed runs of the tests have left on the machine: they still have the
// subnets that the tests want.
func takeDownLeftovers(ctx context.Context, root string, w io.Writer) error {
	for _, data := range leftovers(root) {
		fmt.Fprintf(w, "taking down what a run of the tests left: %s\n", data)
		down := exec.CommandContext(ctx, filepath.Join("bin", "mullion"), "--data-dir", data, "down")
		if out, err := down.CombinedOutput(); err != nil {
			return fmt.Errorf("take down %s: %w: %s", data, err, out)
		}
	}
	return nil
}

// leftovers returns the data folders of clusters of tests whose supervisor does not live. A test's folder is that of
// testing.T.TempDir. root is the parent of run folders.
func leftovers(root string) []string {
	runs, _ := filepath.Glob(filepath.Join(root, "*")) // the pattern is well formed
	var out []string
	for _, run := range runs {
		data, err := layout.DataOf(run)
		if err == nil && strings.HasPrefix(data, filepath.Join(os.TempDir(), "Test")) && !supervised(run) {
			out = append(out, data)
		}
	}
	return out
}

// supervised reports whether somebody holds the lock of the run folder's supervisor.
func supervised(run string) bool {
	lock, err := os.Open(filepath.Join(run, layout.LockFile))
	if err != nil {
		return false
	}
	defer lock.Close()
	return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}
