package wine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefuseEmpty(t *testing.T) {
	lib, system32 := t.TempDir(), t.TempDir()
	windows := filepath.Join(lib, "x86_64-windows")
	shim := filepath.Join(t.TempDir(), refusal)
	files := map[string]string{
		filepath.Join(windows, "where.exe"):    "MZ stub:\x00 nothing else",
		filepath.Join(windows, "findstr.exe"):  "MZ a newer Wine's real program",
		filepath.Join(windows, "tasklist.exe"): "MZ stub: but " + string(make([]byte, 300<<10)),
		shim:                                   "MZ refusal",
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Options{Install: Install{LibDir: lib}}.refuseEmpty(shim, system32)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"where.exe"}, got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(system32)
	if err != nil || len(entries) != 1 || entries[0].Name() != "where.exe" {
		t.Errorf("system32 holds %v, %v", entries, err)
	}
}
