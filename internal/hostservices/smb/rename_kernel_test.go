//go:build kernel

package smb_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/hostservices/smb/smbtest"
)

// shareOf is a share as a host sees it, and the folder of the server that it is.
type shareOf struct {
	server *smbtest.Server
	dir    string
}

func newShare(t *testing.T) shareOf {
	t.Helper()
	h := newHost(t)
	s := smbtest.Start(t, h.netns, loopback, smbtest.Options{})
	return shareOf{server: s, dir: h.mapped(t, mapAs(smbtest.User))}
}

func (s shareOf) at(name string) string { return filepath.Join(s.dir, name) }

func (s shareOf) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(s.at(name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// has looks at the server.
func (s shareOf) has(t *testing.T, name, want string) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(s.server.Dir, name)); string(data) != want || err != nil {
		t.Errorf("%s on the server: %q, %v, want %q", name, data, err, want)
	}
}

func (s shareOf) hasNot(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(s.server.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s on the server: %v", name, err)
	}
}

func (s shareOf) open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(s.at(name), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func (s shareOf) rename(t *testing.T, from, to string, want error) {
	t.Helper()
	if err := os.Rename(s.at(from), s.at(to)); !errors.Is(err, want) {
		t.Errorf("rename %s to %s: %v, want %v", from, to, err, want)
	}
}

func write(t *testing.T, f *os.File, text string, want error) {
	t.Helper()
	if _, err := f.WriteAt([]byte(text), 0); !errors.Is(err, want) {
		t.Errorf("write to %s: %v, want %v", f.Name(), err, want)
	}
}

// sameFile looks at the numbers of inodes, by which Wine knows files.
func sameFile(t *testing.T, a, b *os.File) {
	t.Helper()
	first, err := a.Stat()
	second, otherErr := b.Stat()
	if err = errors.Join(err, otherErr); err != nil || !os.SameFile(first, second) {
		t.Errorf("%s and %s are not the same file: %v", a.Name(), b.Name(), err)
	}
}

// TestRenameOpen renames files that are open, as Wine does: they are the same files afterwards.
func TestRenameOpen(t *testing.T) {
	s := newShare(t)
	s.write(t, "one", "one")
	f := s.open(t, "one")
	time.Sleep(1100 * time.Millisecond) // what the kernel was told of the name is old
	second := s.open(t, "one")
	sameFile(t, f, second)
	s.rename(t, "one", "two", nil)
	s.hasNot(t, "one")
	sameFile(t, f, s.open(t, "two"))
	write(t, f, "ONE and more", nil)

	if data := make([]byte, 3); true {
		if _, err := second.ReadAt(data, 0); err != nil || string(data) != "ONE" {
			t.Errorf("read by another descriptor: %q, %v", data, err)
		}
	}

	if info, err := f.Stat(); err != nil || info.Size() != 12 {
		t.Errorf("what is open: %v, %v", info, err)
	}
	if err := f.Truncate(3); err != nil {
		t.Error(err)
	}
	s.has(t, "two", "ONE")

	// over another, to another folder, and with names of another spelling
	s.write(t, "old", "old")
	if err := os.Mkdir(s.at("folder"), 0o755); err != nil {
		t.Fatal(err)
	}

	s.rename(t, "two", "old", nil)
	s.rename(t, "OLD", "folder/new", nil)
	write(t, f, "1", nil)
	s.has(t, "folder/new", "1NE")
	s.rename(t, "folder/new", "folder/New", nil)
	write(t, f, "2", nil)
	s.has(t, "folder/New", "2NE")

	// the connection is made anew
	s.server.Stop()
	s.server.Run(t)
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := f.WriteAt([]byte("3"), 0)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}

	s.has(t, "folder/New", "3NE")
	err := unix.Renameat2(unix.AT_FDCWD, s.at("folder/New"), unix.AT_FDCWD, s.at("free"), unix.RENAME_NOREPLACE)
	if err != nil {
		t.Error(err)
	}
	write(t, f, "4", nil)
	s.has(t, "free", "4NE")
}

// TestRenameRefused: what Windows refuses is refused, and leaves everything as it is.
func TestRenameRefused(t *testing.T) {
	s := newShare(t)
	s.write(t, "new", "new")
	s.write(t, "old", "old")
	f := s.open(t, "old")
	s.rename(t, "new", "old", fs.ErrPermission)
	write(t, f, "O", nil)
	s.has(t, "old", "Old")
	s.has(t, "new", "new")

	// a folder with an open file
	if err := os.MkdirAll(s.at("a/b"), 0o755); err != nil {
		t.Fatal(err)
	}

	s.write(t, "a/b/c", "c")
	within := s.open(t, "a/b/c")
	s.rename(t, "a", "z", fs.ErrPermission)
	write(t, within, "C", nil)
	s.has(t, "a/b/c", "C")
	if err := within.Close(); err != nil {
		t.Error(err)
	}

	s.rename(t, "a", "z", nil) // at once
	s.has(t, "z/b/c", "C")
	if err := errors.Join(f.Close(), os.RemoveAll(s.at("z"))); err != nil {
		t.Error(err)
	}
	s.rename(t, "new", "old", nil)
	s.has(t, "old", "new")
}

// TestRenameDescriptor: a file of which one descriptor was closed and another is open goes with its folder, and is no
// other that is moved over it.
func TestRenameDescriptor(t *testing.T) {
	s := newShare(t)
	if err := os.Mkdir(s.at("a"), 0o755); err != nil {
		t.Fatal(err)
	}

	s.write(t, "a/one", "one")
	f := s.open(t, "a/one")
	closeSecond := func() {
		t.Helper()
		second, err := unix.Dup(int(f.Fd()))
		if err == nil {
			err = unix.Close(second)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	closeSecond()
	s.rename(t, "a", "b", nil)
	write(t, f, "O", nil)
	s.has(t, "b/one", "One")
	closeSecond()
	s.write(t, "two", "two")
	s.rename(t, "two", "b/one", nil)
	write(t, f, "X", syscall.ESTALE)
	s.has(t, "b/one", "two")
}

// TestRemoveOpen: a file that is removed while it is open is found no more, and goes when it is closed.
func TestRemoveOpen(t *testing.T) {
	s := newShare(t)
	s.write(t, "one", "one")
	f, second := s.open(t, "one"), s.open(t, "One")
	if err := os.Remove(s.at("one")); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"one", "ONE"} {
		if _, err := os.Stat(s.at(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}

	if err := os.WriteFile(s.at("one"), nil, 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("made anew: %v", err)
	}

	write(t, f, "O", nil)
	data := make([]byte, 3)
	if _, err := second.ReadAt(data, 0); err != nil || string(data) != "One" {
		t.Errorf("read by another descriptor: %q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}

	s.has(t, "one", "One")
	if err := second.Close(); err != nil {
		t.Error(err)
	}

	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) { // nobody waits for Release
		if _, err := os.Lstat(filepath.Join(s.server.Dir, "one")); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it is still on the server")
		}
	}

	s.write(t, "one", "new")
	s.has(t, "one", "new")
}

// TestSave saves as programs do that write a file beside the old one and rename it, again and again: what was closed is
// closed on the server.
func TestSave(t *testing.T) {
	s := newShare(t)
	for i := range 200 {
		text := fmt.Sprint("text ", i)
		s.write(t, "text.tmp", text)
		s.rename(t, "text.tmp", "text", nil)
		if data, err := os.ReadFile(s.at("text")); err != nil || string(data) != text {
			t.Fatalf("%d: %q, %v", i, data, err)
		}

		if i%10 == 0 {
			if err := os.Remove(s.at("text")); err != nil {
				t.Fatal(err)
			}
		}
	}

	if t.Failed() {
		return
	}
	s.hasNot(t, "text.tmp")
}

// TestCloseWithoutServer: a server that does not answer holds up nobody who closes a file for long.
func TestCloseWithoutServer(t *testing.T) {
	s := newShare(t)
	s.write(t, "one", "one")
	f := s.open(t, "one")
	s.server.Signal(t, syscall.SIGSTOP)
	defer s.server.Signal(t, syscall.SIGCONT)
	begin := time.Now()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
