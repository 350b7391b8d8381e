package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func measured(t *testing.T, dir string) (meter, error) {
	t.Helper()
	m := meter{linked: map[inode]bool{}}
	err := m.measure(t.Context(), dir)
	return m, err
}

// nest makes folders, one in the other, with descriptors: their whole name may be longer than Linux takes. Into the
// innermost goes a file of 100 KiB.
func nest(t *testing.T, dir, name string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range depth {
		if err == nil {
			err = unix.Mkdirat(fd, name, 0o755)
		}
		inner := -1
		if err == nil {
			inner, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		err = errors.Join(err, unix.Close(fd))
		fd = inner
	}

	file := -1
	if err == nil {
		file, err = unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
	}
	if err == nil {
		_, err = unix.Write(file, make([]byte, 100<<10))
		err = errors.Join(err, unix.Close(file), unix.Close(fd))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/one", "b/two"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, make([]byte, 1<<20), 0o644)); err != nil {
			t.Fatal(err)
		}
	}

	err := errors.Join(os.Link(filepath.Join(dir, "a/one"), filepath.Join(dir, "b/again")),
		os.Symlink("/", filepath.Join(dir, "out")), os.Symlink("../b", filepath.Join(dir, "a/b")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	m, err := measured(t, dir)
	// The folder itself, two in it, two files of which one has two names, two links, a pipe.
	if err != nil || m.inodes != 8 || m.bytes < 2<<20 || m.bytes > 2<<20+64<<10 {
		t.Errorf("%d bytes, %d inodes, %v", m.bytes, m.inodes, err)
	}

	if _, err := measured(t, filepath.Join(dir, "out")); err == nil {
		t.Error("a link in place of the folder is followed")
	}
}

// TestMeasureWhatHides: a name that is longer than Linux takes hides nothing, and nor do folders without end.
func TestMeasureWhatHides(t *testing.T) {
	long := t.TempDir()
	nest(t, long, strings.Repeat("x", 250), 40)
	m, err := measured(t, long)
	if err != nil || m.inodes != 42 || m.bytes < 100<<10 {
		t.Errorf("long names: %d bytes, %d inodes, %v", m.bytes, m.inodes, err)
	}

	deep := t.TempDir()
	nest(t, deep, "d", deepest+1)
	if _, err := measured(t, deep); !errors.Is(err, errDeep) {
		t.Errorf("deep folders: %v", err)
	}
	bytes, inodes, err := diskFull(deep)
	if err != nil || bytes < 100<<10 || inodes == 0 {
		t.Errorf("the disk: %d bytes, %d inodes, %v", bytes, inodes, err)
	}
}

// TestMeasureWhatChanges measures while names come and go.
func TestMeasureWhatChanges(t *testing.T) {
	dir := t.TempDir()
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}

			at := filepath.Join(dir, strconv.Itoa(n%20))
			if err := errors.Join(os.MkdirAll(filepath.Join(at, "in"), 0o755), os.RemoveAll(at),
				os.WriteFile(at, nil, 0o644), os.RemoveAll(at)); err != nil {
				done <- err
				return
			}
		}
	}()

	for range 300 {
		if m, err := measured(t, dir); err != nil || m.inodes == 0 {
			t.Fatalf("%+v, %v", m, err)
		}
	}

	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMeasureManyLinks: what is remembered of files with several names has an end.
func TestMeasureManyLinks(t *testing.T) {
	m := meter{linked: map[inode]bool{}}
	for n := range uint64(mostLinked + 10) {
		m.add(&unix.Stat_t{
			Ino:   n,
			Nlink: 2,
			Mode:  unix.S_IFREG,
		})

		m.add(&unix.Stat_t{
			Ino:   n,
			Nlink: 2,
			Mode:  unix.S_IFREG,
		})
	}

	if len(m.linked) != mostLinked || m.inodes != mostLinked+20 {
		t.Errorf("%d remembered, %d counted", len(m.linked), m.inodes)
	}
}
