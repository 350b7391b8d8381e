// Package built says where the programs are that tests run.
package built

import (
	"os"
	"path/filepath"
	"testing"
)

// Repository returns the repository's folder: the nearest one with Mullion's command above the working directory, which
// is the folder of the package that is tested.
func Repository() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "mullion")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// Dir returns the folder of Mullion's programs: MULLION_BIN, which names that of an installed package (lib/mullion
// below its prefix), or else bin of the repository, where make leaves them.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("MULLION_BIN")
	if dir == "" {
		dir = filepath.Join(Repository(), "bin")
	}
	if _, err := os.Stat(filepath.Join(dir, "mullion")); err != nil {
		tb.Fatalf("run `make build sample` first: %v", err)
	}
	return dir
}
