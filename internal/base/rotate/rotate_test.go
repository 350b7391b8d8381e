package rotate_test

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/rotate"
)

// TestRotate: a log and its two earlier files have the last writes, each whole, and nobody else can read them.
func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log")
	f, err := rotate.Open(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"lost 1\n", "old 2\n", "a 3\n", "b 4\n", "longer than the limit 5\n"} {
		if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = rotate.Open(path, 100); err != nil { // goes on where it was
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("6\n")); err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	want := []string{"old 2\na 3\n", "b 4\n", "longer than the limit 5\n6\n"}
	for i, name := range rotate.Names(path) {
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want[i] {
			t.Errorf("%s: %q, %v; want %q", filepath.Base(name), got, err, want[i])
		}
		if info, err := os.Stat(name); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
	for range 2 {
		if err := rotate.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
