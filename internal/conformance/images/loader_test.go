package images

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
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
	hello := Image{Refs: []string{first, second}, Content: map[string]Content{
		Linux: {Layers: []map[string]File{{"hello": {Program: "hello"}}}, Cmd: []string{"/hello"}},
	}}
	program("one")
	made, err := NewBuilder(built).Build(t.Context(), hello, Linux)
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
		{
			name:     "the-same-told",
			program:  "one",
			has:      map[string]string{first: digest, second: digest},
			everyOne: true,
			says:     "there is",
		},
		{name: "one-name-lacks", program: "one", has: map[string]string{first: digest}, loads: 1, says: "loaded"},
		{
			name:    "program-changed",
			program: "two",
			has:     map[string]string{first: digest, second: digest},
			loads:   1,
			says:    "loaded",
		},
		{name: "broken", program: "one", digestErr: broken},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program(tt.program)
			loads := 0
			store := Store{
				System: Linux,
				Digest: func(ref string) (string, error) {
					if d, ok := tt.has[ref]; ok || tt.digestErr != nil {
						return d, tt.digestErr
					}
					return "", fmt.Errorf("image %q: %w", ref, errdefs.ErrNotFound)
				},
				Load: func(archive io.Reader) error {
					loads++
					_, err := io.Copy(io.Discard, archive)
					return err
				},
			}

			var out bytes.Buffer
			l := Loader{
				Builder:  NewBuilder(built),
				Out:      &out,
				EveryOne: tt.everyOne,
			}
			if err := l.Put(t.Context(), hello, store); !errors.Is(err, tt.digestErr) {
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
	l := Loader{Builder: NewBuilder(built)}
	if err := l.Put(t.Context(), hello, Store{System: Linux}); err == nil ||
		!strings.Contains(err.Error(), "hello") {
		t.Errorf("an image without its program: %v", err)
	}
}

// TestRegistriesOnWindowsNodes puts the folder of agnhost's registry on the C: of Windows nodes.
func TestRegistriesOnWindowsNodes(t *testing.T) {
	built := t.TempDir()
	if err := os.MkdirAll(filepath.Join(built, "windows"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(built, "windows", "busybox.exe"), []byte("busybox"), 0o755); err != nil {
		t.Fatal(err)
	}

	const driveName = "drive_c"
	hosts := []Host{
		{Name: "win-1", Root: t.TempDir(), Drive: driveName},
		{Name: "win-2", Root: t.TempDir(), Drive: driveName},
	}
	drive := func(node string) string {
		at := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == node })
		return filepath.Join(hosts[at].Root, driveName)
	}

	for _, node := range []string{"win-1", "win-2"} {
		if err := os.MkdirAll(drive(node), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	var out bytes.Buffer
	l := Loader{
		Builder:  NewBuilder(built),
		Out:      &out,
		EveryOne: true,
	}
	if err := l.Registries(t.Context(), hosts); err != nil {
		t.Fatal(err)
	}

	tags := map[string]string{}
	for _, node := range []string{"win-1", "win-2"} {
		tag, err := os.ReadFile(filepath.Join(drive(node), "var", "registry", "pause", "manifests", "testing"))
		if err != nil {
			t.Error(err)
		}
		tags[node] = string(tag)
	}

	if tags["win-1"] != tags["win-2"] || !strings.HasPrefix(tags["win-1"], "sha256:") {
		t.Errorf("the nodes' tags say %q", tags)
	}
	want := `put localhost:5000/pause:testing into C:\var\registry of node win-1, for the registry of agnhost
put localhost:5000/pause:testing into C:\var\registry of node win-2, for the registry of agnhost
`
	if out.String() != want {
		t.Errorf("said %q, want %q", out.String(), want)
	}

	// A node's programs put a link in the way.
	if err := os.RemoveAll(filepath.Join(drive("win-2"), "var")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(drive("win-2"), "var")); err != nil {
		t.Fatal(err)
	}

	if err := l.Registries(t.Context(), hosts); err == nil || !strings.Contains(err.Error(), `node "win-2"`) {
		t.Errorf("through a link: %v", err)
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 0 {
		t.Errorf("outside there are %v, %v", files, err)
	}
}
