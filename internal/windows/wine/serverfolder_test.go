package wine_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/windows/wine"
)

// TestNameServerFolder: the file is as Wine wants it, also in the place of one that Wine wrote, or of a link.
func TestNameServerFolder(t *testing.T) {
	for name, before := range map[string]func(path string) error{
		"a new prefix":   func(string) error { return nil },
		"Wine's own":     func(path string) error { return os.WriteFile(path, []byte("wine-a1B2c3"), 0o400) },
		"a link outside": func(path string) error { return os.Symlink("../outside", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "prefix")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, wine.ServerFile)
			if err := before(path); err != nil {
				t.Fatal(err)
			}

			prefix, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer prefix.Close()
			if err := wine.NameServerFolder(prefix, os.Geteuid()); err != nil {
				t.Fatal(err)
			}

			info, err := os.Lstat(path)
			if err != nil || info.Mode() != fs.FileMode(0o400) {
				t.Errorf("%v, %v; Wine wants a file that nobody writes", info.Mode(), err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != "wine-server" {
				t.Errorf("%q, %v", text, err)
			}

			if _, err := os.Lstat(filepath.Join(dir, "../outside")); err == nil {
				t.Error("a file was written outside of the prefix")
			}
		})
	}
}
