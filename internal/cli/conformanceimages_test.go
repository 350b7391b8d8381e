package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/conformance/images"
)

// TestPutOnlyWhatDiffers hands an image to stores that have it, or not, or another one by its names.
func TestPutOnlyWhatDiffers(t *testing.T) {
	built := t.TempDir()
	program := func(text string) {
		if err := os.WriteFile(filepath.Join(built, "hello"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "mullion.local/hello:v1", "mullion.local/hello:v2"
	hello := images.Image{Refs: []string{first, second}, Content: map[string]images.Content{
		images.Linux: {Layers: []map[string]images.File{{"hello": {Program: "hello"}}}, Cmd: []string{"/hello"}},
	}}
	program("one")
	made, err := images.NewBuilder(built).Build(t.Context(), hello, images.Linux)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := made.Digest()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the store is broken")
	tests := []struct {
		name, program string
		has           map[string]string
		digestErr     error
		everyOne      bool
		loads         int
		says          string
	}{
		{name: "nothing", program: "one", loads: 1, says: "loaded"},
		{name: "the-same", program: "one", has: map[string]string{first: digest, second: digest}},
		{name: "the-same-told", program: "one", has: map[string]string{first: digest, second: digest}, everyOne: true, says: "there is"},
		{name: "one-name-lacks", program: "one", has: map[string]string{first: digest}, loads: 1, says: "loaded"},
		{name: "program-changed", program: "two", has: map[string]string{first: digest, second: digest}, loads: 1, says: "loaded"},
		{name: "broken", program: "one", digestErr: broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program(tt.program)
			loads := 0
			store := imageStore{
				system: images.Linux,
				digest: func(ref string) (string, error) {
					if d, ok := tt.has[ref]; ok || tt.digestErr != nil {
						return d, tt.digestErr
					}
					return "", fmt.Errorf("image %q: %w", ref, errdefs.ErrNotFound)
				},
				load: func(archive io.Reader) error {
					loads++
					_, err := io.Copy(io.Discard, archive)
					return err
				},
			}
			var out bytes.Buffer
			l := imageLoader{app: &app{env: Env{Out: &out}}, builder: images.NewBuilder(built), everyOne: tt.everyOne}
			if err := l.put(t.Context(), hello, store); !errors.Is(err, tt.digestErr) {
				t.Errorf("error %v, want %v", err, tt.digestErr)
			}
			if loads != tt.loads {
				t.Errorf("loaded %d times, want %d", loads, tt.loads)
			}
			want := ""
			if tt.says != "" {
				want = fmt.Sprintf("%s %s for linux\n%s %s for linux\n", tt.says, first, tt.says, second)
			}
			if out.String() != want {
				t.Errorf("said %q, want %q", out.String(), want)
			}
		})
	}
	if err := os.Remove(filepath.Join(built, "hello")); err != nil {
		t.Fatal(err)
	}
	l := imageLoader{app: &app{}, builder: images.NewBuilder(built)}
	if err := l.put(t.Context(), hello, imageStore{system: images.Linux}); err == nil || !strings.Contains(err.Error(), "hello") {
		t.Errorf("an image without its program: %v", err)
	}
}
