package emptydirs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// measure measures the folder v below a new one, in which make has made something.
func measure(t *testing.T, bound emptydirs.Bound, make func(v string) error) emptydirs.Usage {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	v := filepath.Join(dir, "v")
	if err := errors.Join(os.Mkdir(v, 0o755), make(v)); err != nil {
		t.Fatal(err)
	}

	u, err := emptydirs.Measure(t.Context(), root, "v", bound)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// allocate makes a file of so many bytes, and blocks for so many behind its end.
func allocate(name string, size, behind int64) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(make([]byte, size)); err != nil || behind == 0 {
		return err
	}
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 1<<20, behind)
}

// TestMeasureBlocks: what Windows counts for nothing takes room of the disk too.
func TestMeasureBlocks(t *testing.T) {
	const many = 200
	bound := emptydirs.Bound{
		Names: 1000,
		Depth: 5,
		Path:  400,
	}

	block := measure(t, bound, func(string) error { return nil }).Blocks // an empty folder's
	for name, add := range map[string]func(path string) error{
		"folders":     func(path string) error { return os.Mkdir(path, 0o755) },
		"links":       func(path string) error { return os.Symlink(strings.Repeat("l", 3000), path) },
		"small files": func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
	} {
		u := measure(t, bound, func(v string) error {
			var err error
			for i := range many {
				err = errors.Join(err, add(filepath.Join(v, strconv.Itoa(i))))
			}
			return err
		})

		if block == 0 {
			t.Skip("folders of this file system take no blocks")
		}
		if u.Bytes > many || u.Blocks < many*block || u.Blocks > 3*many*block {
			t.Errorf("%s: %+v; want at most %d bytes, and some %d of the disk", name, u, many, many*block)
		}
	}
}

func TestMeasure(t *testing.T) {
	bound := emptydirs.Bound{
		Names: 100,
		Depth: 5,
		Path:  400,
	}

	for name, tt := range map[string]struct {
		make      func(v string) error
		bytes     int64 // at least
		most      int64
		names     int
		says      string
		fallocate bool
	}{
		"nothing": {func(string) error { return nil }, 0, 0, 0, "", false},
		"odd names": {func(v string) error {
			return errors.Join(os.Mkdir(v+`/..\v`, 0o755), allocate(v+"/..\\v/a*\xff", 5000, 0), os.Symlink("/", v+"/root"))
		}, 5000, 5000, 3, "", false},
		"behind the end": {func(v string) error { return allocate(v+"/f", 0, 4<<20) }, 4 << 20, 5 << 20, 1, "", true},
		"sparse": {func(v string) error {
			return errors.Join(os.WriteFile(v+"/f", nil, 0o644), os.Truncate(v+"/f", 1<<40))
		}, 0, 0, 1, "", false},
		"hard links": {func(v string) error {
			return errors.Join(allocate(v+"/f", 9000, 0), os.Link(v+"/f", v+"/g"), os.Link(v+"/f", v+"/h"))
		}, 9000, 9000, 3, "", false},
		"many": {func(v string) error {
			err := os.WriteFile(v+"/f", nil, 0o644)
			for i := range 100 {
				err = errors.Join(err, os.Link(v+"/f", v+"/"+strings.Repeat("x", i+1)))
			}
			return err
		}, 0, 0, 101, "more than 100 entries", false},
		"deep": {func(v string) error { return os.MkdirAll(v+strings.Repeat("/d", 7), 0o755) }, 0, 0, 7, "more than 5 folders in one another", false},
		"long": {func(v string) error { return os.MkdirAll(v+strings.Repeat("/"+strings.Repeat("l", 200), 2), 0o755) }, 0, 0, 2, "a path of more than 400 bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.fallocate {
				if err := allocate(filepath.Join(t.TempDir(), "try"), 0, 1<<20); errors.Is(err, unix.EOPNOTSUPP) {
					t.Skip("the file system has no fallocate")
				}
			}
			u := measure(t, bound, tt.make)
			if u.Bytes < tt.bytes || u.Bytes > tt.most || u.Names != tt.names || u.Over != tt.says {
				t.Errorf("%+v; want %d to %d bytes, %d names, %q", u, tt.bytes, tt.most, tt.names, tt.says)
			}
		})
	}
}
