package filecopy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/filecopy"
)

// place writes a file with a mode.
func place(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// holds checks that a file has a content and a mode.
func holds(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text || info.Mode().Perm() != mode {
		t.Errorf("%s holds %q, mode %s; want %q, %s", filepath.Base(path), got, info.Mode().Perm(), text, mode)
	}
}

func TestCopies(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	to := filepath.Join(dir, "to")
	other := filepath.Join(dir, "other")
	place(t, from, "new", 0o750)
	place(t, to, "old and longer", 0o640)
	if err := os.Link(to, other); err != nil {
		t.Fatal(err)
	}

	info, err := filecopy.Onto(from, to, 0o600)
	if err != nil || info.Mode().Perm() != 0o750 {
		t.Fatalf("Onto = %v, %v", info, err)
	}
	holds(t, to, "new", 0o640)
	holds(t, other, "new", 0o640)

	place(t, from, "newer", 0o750)
	if _, err := filecopy.New(from, to, 0o755); err != nil {
		t.Fatal(err)
	}
	holds(t, to, "newer", 0o755)
	holds(t, other, "new", 0o640)
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	place(t, from, "new", 0o600)
	place(t, to, "kept", 0o600)
	type copies func(from, to string, mode fs.FileMode) (fs.FileInfo, error)
	for name, do := range map[string]copies{"Onto": filecopy.Onto, "New": filecopy.New} {
		if _, err := do(filepath.Join(dir, "none"), to, 0o600); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a file that is not there: %v", name, err)
		}
		if _, err := do(dir, to, 0o600); !errors.Is(err, filecopy.ErrFolder) {
			t.Errorf("%s of a folder: %v", name, err)
		}
		if _, err := do(from, filepath.Join(dir, "none", "to"), 0o600); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s to a folder that is not there: %v", name, err)
		}

		holds(t, to, "kept", 0o600)
	}
}
