package images

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// serve answers as upstream's server does
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/agnhost/fakeregistryserver/registryserver.go): a
// tag's file holds a digest, to which it redirects; below the digest lies what it is of; a manifest's type is what the
// manifest says.
func serve(dir string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")
		if r.URL.Path == "/v2/" {
			return
		}
		if len(parts) != 3 || (parts[1] != "manifests" && parts[1] != "blobs") {
			http.NotFound(w, r)
			return
		}

		at := filepath.Join(dir, parts[0], parts[1])
		algorithm, hash, isDigest := strings.Cut(parts[2], ":")
		if !isDigest {
			digest, err := os.ReadFile(filepath.Join(at, parts[2]))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			http.Redirect(w, r, strings.Replace(r.URL.Path, parts[2], strings.TrimSpace(string(digest)), 1),
				http.StatusTemporaryRedirect)
			return
		}

		data, err := os.ReadFile(filepath.Join(at, algorithm, hash[:2], hash, "data"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		var manifest struct{ MediaType string }
		if parts[1] == "manifests" && json.Unmarshal(data, &manifest) == nil {
			w.Header().Set("Content-Type", manifest.MediaType)
		}

		_, _ = w.Write(data)
	}
}

// TestRegistryServesPause pulls the image, all of it, from what is written, by a server like upstream's.
func TestRegistryServesPause(t *testing.T) {
	b := NewBuilder(built(t))
	for _, system := range []string{Windows, Linux} {
		t.Run(system, func(t *testing.T) {
			dir := t.TempDir()
			writeTo(t, b, system, dir)
			server := httptest.NewServer(serve(filepath.Join(dir, filepath.FromSlash(RegistryDir))))
			defer server.Close()
			_, image, _ := strings.Cut(ServedRef, "/")
			ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/"+image, name.Insecure)
			if err != nil {
				t.Fatal(err)
			}

			index, err := remote.Index(ref)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Index(index); err != nil {
				t.Error(err)
			}

			manifest, err := index.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range manifest.Manifests {
				if m.Platform == nil || m.Platform.OS != system {
					t.Errorf("in the registry for %s there is an image for %v", system, m.Platform)
				}
			}

			own, served := layersOf(t, imageOf(t, b, "pause", system)), layersOf(t, firstOf(t, index))
			if len(served) != len(own)+1 || !slices.Equal(served[:len(own)], own) {
				t.Errorf("layers %v are served, the nodes' own pause has %v: want one more, for a pull to fetch",
					served, own)
			}
		})
	}
}

// writeTo writes the registry of a system below a folder.
func writeTo(t *testing.T, b *Builder, system, dir string) {
	t.Helper()
	r, err := b.Registry(t.Context(), system)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := r.Write(root, RegistryDir); err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the files below a folder, in one text.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path[len(dir):], data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return all.String()
}

// TestRegistryWrite writes over what is there, and through no link.
func TestRegistryWrite(t *testing.T) {
	b, outside := NewBuilder(built(t)), t.TempDir()
	fresh := t.TempDir()
	writeTo(t, b, Windows, fresh)
	want := filesOf(t, fresh)

	dir := t.TempDir()
	old := filepath.Join(dir, "var", "registry", servedName, "blobs", "old")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		writeTo(t, b, Windows, dir)
		if got := filesOf(t, dir); got != want {
			t.Errorf("written over another one:\n%.500s\nwant:\n%.500s", got, want)
		}
	}

	if err := os.RemoveAll(filepath.Join(dir, "var", "registry")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "var", "registry")); err != nil {
		t.Fatal(err)
	}

	writeTo(t, b, Windows, dir)
	if got := filesOf(t, dir); got != want {
		t.Error("written in the place of a link there are other files")
	}
	if err := os.RemoveAll(filepath.Join(dir, "var")); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(outside, filepath.Join(dir, "var")); err != nil {
		t.Fatal(err)
	}
	r, err := b.Registry(t.Context(), Windows)
	if err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := r.Write(root, RegistryDir); err == nil {
		t.Error("written through a link that leads out")
	}

	if got := filesOf(t, outside); got != "" {
		t.Errorf("there is something outside: %.200s", got)
	}
}

// TestAgnhostHasRegistry looks for the folder in the image, and that of kitten, which is made of it.
func TestAgnhostHasRegistry(t *testing.T) {
	b := NewBuilder(built(t))
	for _, system := range []string{Windows, Linux} {
		for _, ref := range []string{"agnhost", "kitten"} {
			img := imageOf(t, b, ref, system)
			layers, err := img.Layers()
			if err != nil {
				t.Fatal(err)
			}

			var names []byte
			for _, l := range layers {
				from, err := l.Compressed() // what it was made of is gone
				if err != nil {
					t.Fatal(err)
				}
				r, err := gzip.NewReader(from)
				if err != nil {
					t.Fatal(err)
				}

				data, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, data...)
			}

			if want := RegistryDir + "/" + servedName + "/manifests/" + servedTag; !bytes.Contains(names,
				[]byte(want)) {
				t.Errorf("%s for %s has no %s", ref, system, want)
			}
		}
	}
}
