// Package built says where the programs are that tests run.
package built

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Repository is the repository's folder.
func Repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Dir is the folder of Mullion's programs: MULLION_BIN, which names that of an installed package (lib/mullion below
// its prefix), or else bin of the repository, where make leaves them.
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
