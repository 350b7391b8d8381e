package agent

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// loads keeps the names of the files of an archive that it is given.
type loads struct {
	names   []string
	options image.LoadOptions
}

func (l *loads) Load(_ context.Context, r io.Reader, o image.LoadOptions) ([]image.Loaded, error) {
	l.options = o
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		l.names = append(l.names, h.Name)
	}
}

// TestPauseImage: the image of Mullion's making is loaded and stays, one of a registry is left to who needs it, and
// without its programs the agent says what to build.
func TestPauseImage(t *testing.T) {
	bin := t.TempDir()
	a := &agent{executable: filepath.Join(bin, "mullion-node")}
	for _, asked := range []spec.PauseImage{"", "registry.k8s.io/pause:3.10.2"} {
		var store loads
		a.config.PauseImage = asked
		if err := a.ensurePause(t.Context(), &store); err != nil || store.names != nil {
			t.Errorf("%q: %v, loaded %q", asked, err, store.names)
		}
	}

	var store loads
	a.config.PauseImage = spec.OwnPauseImage
	if err := a.ensurePause(t.Context(), &store); err == nil || !strings.Contains(err.Error(), "make pause") {
		t.Errorf("without programs: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(bin, "windows"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range pauseimage.Programs(filepath.Join(bin, "windows")) {
		if err := os.WriteFile(program, []byte("MZ "+program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.ensurePause(t.Context(), &store); err != nil || len(store.names) == 0 {
		t.Errorf("%v, loaded %q", err, store.names)
	}
	if !store.options.Local || store.options.Unpinned {
		t.Errorf("options: %+v", store.options)
	}
}
