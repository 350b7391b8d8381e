package stores

import (
	"io"
	"os"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cli/invoke"
)

// TestArchiveFromStandardInput holds that it can be read again, as each store does, and leaves no file.
func TestArchiveFromStandardInput(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := OpenArchive(t.Context(), &invoke.Call{Env: invoke.Env{In: strings.NewReader("images")}}, "-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	for range 2 {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || string(text) != "images" {
			t.Errorf("read %q, %v", text, err)
		}
	}

	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left %v, %v", files, err)
	}
}
