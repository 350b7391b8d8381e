package kubeimages

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes a program.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// maker returns a maker whose kubeadm asks for these images.
func maker(t *testing.T, names string) Maker {
	t.Helper()
	dir := t.TempDir()
	m := Maker{
		Server:  filepath.Join(dir, "server"),
		Etcd:    filepath.Join(dir, "spare/etcd"),
		CoreDNS: filepath.Join(dir, "coredns"),
		Pause:   filepath.Join(dir, "mullion-pause"),
		Version: "v1.2.3",
	}
	write(t, filepath.Join(m.Server, "kubeadm"), "#!/bin/sh\nif [ \"$*\" != 'config images list --kubernetes-version v1.2.3' ]; then echo \"$*\" >&2; exit 1; fi\nprintf '"+names+"'\n")
	write(t, filepath.Join(m.Server, "hyperkube"), "all")
	for _, name := range []string{"kube-apiserver", "kube-proxy"} {
		if err := os.Symlink("hyperkube", filepath.Join(m.Server, name)); err != nil {
			t.Fatal(err)
		}
	}

	for _, path := range []string{m.Etcd, m.CoreDNS, m.Pause} {
		write(t, path, "x")
	}

	return m
}

// The images have the names that kubeadm asks for, whatever registry and tags these have.
func TestBuild(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/nft"); err != nil {
		t.Skip("needs nft")
	}
	m := maker(t, `example.org/a/kube-apiserver:v1.2.3\nexample.org/a/kube-proxy:v1.2.3\nexample.org/a/coredns/coredns:v9\nexample.org/a/pause:3.1\nexample.org/a/etcd:3.7.0-0\n`)
	images, err := m.Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var got [][]string
	for _, img := range images {
		got = append(got, img.Refs)
	}

	want := [][]string{
		{"example.org/a/coredns/coredns:v9"},
		{"example.org/a/pause:3.1"},
		{"example.org/a/kube-apiserver:v1.2.3", "example.org/a/kube-proxy:v1.2.3", "example.org/a/etcd:3.7.0-0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A program that is several is in the image once.
func TestPlace(t *testing.T) {
	m, dir := maker(t, ""), t.TempDir()
	for _, name := range []string{"kube-apiserver", "kube-proxy"} {
		if err := place(dir, filepath.Join(m.Server, name), name); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, programs, name))
		if err != nil || string(text) != "all" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if to, err := os.Readlink(filepath.Join(dir, programs, name)); err != nil || to != "hyperkube" {
			t.Errorf("%s is a link to %q, %v", name, to, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, err := maker(t, `example.org/other:v1\n`).Build(t.Context())
	if err == nil || !strings.Contains(err.Error(), "without kube-apiserver") {
		t.Errorf("other images: %v", err)
	}
	m := maker(t, `example.org/kube-apiserver:v1\nexample.org/kube-scheduler:v1\n`)
	var missing *NotBuiltError
	if _, err := m.Build(t.Context()); !errors.As(err, &missing) || filepath.Base(missing.Program) != "kube-scheduler" {
		t.Errorf("without a program: %v", err)
	}

	m.Version = "v1.2.4"
	if _, err := m.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "v1.2.4") {
		t.Errorf("kubeadm that fails: %v", err)
	}
	m.Server = t.TempDir()
	if _, err := m.Build(t.Context()); !errors.As(err, &missing) || filepath.Base(missing.Program) != "kubeadm" {
		t.Errorf("without kubeadm: %v", err)
	}
}
