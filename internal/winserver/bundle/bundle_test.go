package bundle_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/winserver/bundle"
)

func tarGz(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range files {
		h := &tar.Header{
			Name:     name,
			Size:     int64(len(text)),
			Mode:     0o755,
			Typeflag: tar.TypeReg,
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}

		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Programs come from folders, from archives and from archives in a folder, the first that has one wins, and a name with
// a way out of the folder leads nowhere.
func TestExtract(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	node := write(t, filepath.Join(dir, "node", "kubernetes-node.tar.gz"), tarGz(t, map[string]string{
		"kubernetes/node/bin/kubelet.exe": "MZ kubelet", "../../kube-proxy.EXE": "MZ proxy", "kubernetes/README": "no",
	}))
	cni := write(t, filepath.Join(dir, "cni.zip"), zipped(t, map[string]string{
		"win-bridge.exe": "MZ bridge", "kubelet.exe": "MZ another",
	}))

	got, err := bundle.Extract([]string{filepath.Dir(node), cni}, to,
		[]string{"kubelet.exe", "kube-proxy.exe", "win-bridge.exe"}, []string{"ctr.exe"})
	slices.Sort(got)
	if err != nil || strings.Join(got, " ") != "kube-proxy.exe kubelet.exe win-bridge.exe" {
		t.Fatalf("%v, %v", got, err)
	}

	for name, want := range map[string]string{
		"kubelet.exe": "MZ kubelet", "kube-proxy.exe": "MZ proxy", "win-bridge.exe": "MZ bridge",
	} {
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		path string
		is   error
	}{
		"missing": {write(t, filepath.Join(dir, "a.zip"), zipped(t, map[string]string{"x": "y"})), bundle.ErrMissing},
		"text": {
			write(t, filepath.Join(dir, "b.zip"), zipped(t, map[string]string{"kubelet.exe": "#!/bin/sh"})), bundle.ErrForm,
		},
		"no zip":  {write(t, filepath.Join(dir, "c.zip"), []byte("MZ")), bundle.ErrForm},
		"no gzip": {write(t, filepath.Join(dir, "d.tgz"), []byte("MZ")), bundle.ErrForm},
		"cut": {
			write(t, filepath.Join(dir, "e.tgz"),
				tarGz(t, map[string]string{"kubelet.exe": "MZ" + strings.Repeat("x", 9000)})[:40]),
			bundle.ErrForm,
		},
		"other":  {write(t, filepath.Join(dir, "f.exe"), []byte("MZ")), bundle.ErrForm},
		"absent": {filepath.Join(dir, "none.zip"), os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bundle.Extract([]string{c.path}, t.TempDir(), []string{"kubelet.exe"}, nil)
			if !errors.Is(err, c.is) {
				t.Errorf("%v, want %v", err, c.is)
			}
		})
	}
}
