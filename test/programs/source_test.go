//go:build wine

package programs

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cacheName is the variable with the folder that keeps what was fetched and built; without it, it is below the user's
// folder for caches.
const cacheName = "MULLION_PROGRAMS_CACHE"

func cacheDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(cacheName)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("there is no folder for caches: %v", err)
		}
		dir = filepath.Join(cache, "mullion-test-programs")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// get has all of the source in the cache.
func (s Source) get(t *testing.T) {
	t.Helper()
	if s.Pack.Name != "" {
		s.Pack.archive(t)
	}
	if s.Tree != "" {
		s.modules(t)
	}
	if s.Module != "" {
		s.build(t)
	}
	for _, other := range s.With {
		other.get(t)
	}
}

// lay puts the source's files into a folder.
func (s Source) lay(t *testing.T, to string) {
	t.Helper()
	if s.Pack.Name != "" {
		s.Pack.extract(t, to)
	}

	if s.Tree != "" {
		modules := os.DirFS(filepath.Join(s.modules(t), "node_modules"))
		if err := os.CopyFS(filepath.Join(to, "node_modules"), modules); err != nil {
			t.Fatal(err)
		}
	}
	if s.Module != "" {
		copyFile(t, s.build(t), filepath.Join(to, s.File))
	}

	for _, other := range s.With {
		other.lay(t, to)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// extract writes all files of the archive, which has them in one folder, into another.
func (p Pack) extract(t *testing.T, to string) {
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

	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("read the package %s: %v", p.Name, err)
		}

		_, name, _ := strings.Cut(header.Name, "/")
		if header.Typeflag != tar.TypeReg || name == "" {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}

		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(file, files); err != nil {
			t.Fatal(err)
		}

		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// archive returns the package's archive in the cache. npm fetches it if it is not there.
func (p Pack) archive(t *testing.T) string {
	t.Helper()
	file := filepath.Join(cacheDir(t),
		strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-")+"-"+p.Version+".tgz")
	got, err := sum(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	if got == p.Sum {
		return file
	}
	fetched := p.fetch(t)
	if got, err := sum(fetched); err != nil || got != p.Sum {
		t.Fatalf("the archive of %s@%s has the sum %s, %v, want %s", p.Name, p.Version, got, err, p.Sum)
	}

	copyFile(t, fetched, file+".new")
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	return file
}

// fetch has npm put the archive into a folder of the test's.
func (p Pack) fetch(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	runNPM(t, folder, "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, p.Name+"@"+p.Version)
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("npm packed %q, %v", archives, err)
	}
	return archives[0]
}

func runNPM(t *testing.T, dir string, args ...string) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("npm is not installed: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), npm, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm has not got it: npm %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// modules returns a folder of the cache with node_modules for Windows, as the tree's package-lock.json pins them.
func (s Source) modules(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join("testdata", s.Tree, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}

	id := sha256.Sum256(lock)
	to := filepath.Join(cacheDir(t), s.Tree+"-"+hex.EncodeToString(id[:6]))
	if _, err := os.Stat(to); err == nil {
		return to
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), "making-") //nolint:usetesting // it is renamed to a folder beside it
	if err != nil {
		t.Fatal(err)
	}

	defer os.RemoveAll(dir)
	for _, name := range []string{"package.json", "package-lock.json"} {
		copyFile(t, filepath.Join("testdata", s.Tree, name), filepath.Join(dir, name))
	}

	runNPM(t, dir, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--os=win32", "--cpu=x64")
	// Links to scripts for a shell are of no use to Windows.
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", ".bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, to); err != nil {
		t.Fatal(err)
	}

	return to
}

// build returns the module's program for Windows in the cache. It is compiled if it is not there.
func (s Source) build(t *testing.T) string {
	t.Helper()
	path, version, _ := strings.Cut(s.Module, "@")
	to := filepath.Join(cacheDir(t), "go", strings.TrimSuffix(s.File, ".exe")+"-"+version+".exe")
	if _, err := os.Stat(to); err == nil {
		return to
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}

	dir, mode := filepath.Join("..", "..", "upstream", s.Pins), "-mod=readonly"
	if s.Pins == "" {
		dir, mode = t.TempDir(), "-mod=mod"
		mod := fmt.Sprintf("module program\n\ngo 1.26\n\nrequire %s %s\n", path, version)
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	cmd := exec.CommandContext(t.Context(), "go", "build", mode, "-trimpath", "-ldflags=-s -w", "-o", to+".new", s.Package)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", s.Package, err, out)
	}
	if err := os.Rename(to+".new", to); err != nil {
		t.Fatal(err)
	}

	return to
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
