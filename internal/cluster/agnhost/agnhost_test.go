package agnhost_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/cluster/agnhost"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/runtime/image"
)

// windowsStore answers err for every image, and keeps what it is given.
type windowsStore struct {
	err    error
	loaded []byte
}

func (s *windowsStore) Get(_ context.Context, ref string) (image.Info, error) {
	if ref != nettest.Image {
		return image.Info{}, fmt.Errorf("asked for %s", ref)
	}
	return image.Info{}, s.err
}

func (s *windowsStore) Load(_ context.Context, r io.Reader, _ image.LoadOptions) (_ []image.Loaded, err error) {
	s.loaded, err = io.ReadAll(r)
	return nil, err
}

// linuxStore has images of these names.
type linuxStore struct {
	names  []string
	err    error
	loaded []byte
}

func (s *linuxStore) List(context.Context) ([]*criapi.Image, error) {
	return []*criapi.Image{{RepoTags: s.names}}, s.err
}

func (s *linuxStore) Load(_ context.Context, r io.Reader) (_ []string, err error) {
	s.loaded, err = io.ReadAll(r)
	return nil, err
}

// images returns Images for a folder of programs (an empty one unless built), and the steps that they report.
func images(t *testing.T, built bool) (i agnhost.Images, said *[]string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"windows/agnhost.exe", "linux/agnhost"} {
		if !built {
			break
		}
		if err := os.MkdirAll(filepath.Join(bin, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("program "+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	said = &[]string{}
	return agnhost.Images{
		Paths: layout.Paths{Bin: bin},
		Step:  func(text string) { *said = append(*said, text) },
	}, said
}

// archived says whether an archive is one of images with this name.
func archived(t *testing.T, archive []byte, ref string) bool {
	t.Helper()
	named := false
	files := tar.NewReader(strings.NewReader(string(archive)))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return named
		}
		if err != nil {
			t.Fatal(err)
		}

		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		named = named || (h.Name == "index.json" && strings.Contains(string(text), ref))
	}
}

func TestWindowsImageIsBuiltWhereItLacks(t *testing.T) {
	i, said := images(t, true)
	store := &windowsStore{err: fmt.Errorf("image: %w", errdefs.ErrNotFound)}
	if err := i.ForWindows(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"building the image " + nettest.Image}, *said); diff != "" {
		t.Error(diff)
	}
	if !archived(t, store.loaded, nettest.Image) {
		t.Errorf("an archive of %d bytes without the image %s", len(store.loaded), nettest.Image)
	}
}

func TestLinuxImageIsBuiltWhereItLacks(t *testing.T) {
	i, said := images(t, true)
	store := &linuxStore{names: []string{"mullion.local/other:v1"}}
	if err := i.ForLinux(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"building the image " + nettest.LinuxImage}, *said); diff != "" {
		t.Error(diff)
	}
	if !archived(t, store.loaded, nettest.LinuxImage) {
		t.Errorf("an archive of %d bytes without the image %s", len(store.loaded), nettest.LinuxImage)
	}
}

func TestWindowsImageOfANodesOwnStore(t *testing.T) {
	i, said := images(t, true)
	store := &linuxStore{names: []string{"mullion.local/other:v1"}}
	if err := i.ForOwn(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"building the image " + nettest.Image}, *said); diff != "" {
		t.Error(diff)
	}
	if !archived(t, store.loaded, nettest.Image) {
		t.Errorf("an archive of %d bytes without the image %s", len(store.loaded), nettest.Image)
	}

	has := &linuxStore{names: []string{nettest.Image}}
	if err := i.ForOwn(t.Context(), has); err != nil || len(has.loaded) > 0 {
		t.Errorf("a store that has the image got %d bytes, %v", len(has.loaded), err)
	}
}

// TestImagesThatAreThereStay needs no programs: a store that has the image, or does not answer, gets nothing.
func TestImagesThatAreThereStay(t *testing.T) {
	broken := errors.New("the store is broken")
	for _, want := range []error{nil, broken} {
		i, said := images(t, false)
		windows, linux := &windowsStore{err: want}, &linuxStore{names: []string{"a", nettest.LinuxImage}, err: want}
		if err := i.ForWindows(t.Context(), windows); !errors.Is(err, want) {
			t.Errorf("Windows: %v, want %v", err, want)
		}
		if err := i.ForLinux(t.Context(), linux); !errors.Is(err, want) {
			t.Errorf("Linux: %v, want %v", err, want)
		}

		if len(*said) > 0 || len(slices.Concat(windows.loaded, linux.loaded)) > 0 {
			t.Errorf("with %v: said %q, loaded %d and %d bytes", want, *said, len(windows.loaded), len(linux.loaded))
		}
	}
}

func TestProgramsThatAreNotBuilt(t *testing.T) {
	i, _ := images(t, false)
	windows := i.ForWindows(t.Context(), &windowsStore{err: errdefs.ErrNotFound})
	linux := i.ForLinux(t.Context(), &linuxStore{})
	for name, err := range map[string]error{"agnhost.exe": windows, "linux/agnhost": linux} {
		var missing *agnhost.NotBuiltError
		if !errors.As(err, &missing) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v is no NotBuiltError of a file that is not there", name, err)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "build the test pods' image: stat ") ||
			!strings.Contains(text, name) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
