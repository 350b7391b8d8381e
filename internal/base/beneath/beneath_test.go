package beneath_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

func TestRead(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"file", "link"} {
		if got, err := beneath.ReadIn(dir, name, 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	for _, name := range []string{"pipe", "folder", "file"} { // four bytes of five
		if _, err := beneath.ReadIn(dir, name, 4); !errors.Is(err, beneath.ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := beneath.ReadIn(dir, "none", 4); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}

	for _, name := range []string{"out", "../" + filepath.Base(outside) + "/secret"} {
		if got, err := beneath.ReadIn(dir, name, 5); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestOpenPath: of what a person names, too, only a regular file is read. Nothing else is even opened.
func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	err = errors.Join(
		os.WriteFile(at("file"), []byte("12345"), 0o600),
		os.Symlink(at("file"), at("link")),
		os.Symlink("/dev/zero", at("zero")),
		unix.Mkfifo(at("pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"file", "link"} {
		if got, err := beneath.ReadPath(at(name), 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	for name, want := range map[string]string{
		"pipe": "a named pipe", "zero": "a device", "socket": "a socket", "": "a folder",
		"file": "larger than 4 bytes", "/proc/version": "larger than 4 bytes", // which has the size 0
	} {
		path := at(name)
		if filepath.IsAbs(name) {
			path = name
		}

		_, err := beneath.ReadPath(path, 4)
		var unfit *beneath.UnfitError
		if !errors.As(err, &unfit) || !errors.Is(err, beneath.ErrUnfit) || unfit.Folder != (name == "") ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}

	if _, _, err := beneath.OpenPath(at("none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(t.TempDir(), "new")
	write := func(name, text string) error {
		return beneath.Within(dir, func(root *os.Root) error { return beneath.Write(root, name, []byte(text), 0o640) })
	}
	if err := errors.Join(write("a/b/file", "old"), write("a/b/file", "new")); err != nil {
		t.Fatal(err)
	}

	if got, err := beneath.ReadIn(dir, "a/b/file", 10); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"out/file", "../file"} {
		if err := write(name, "x"); err == nil {
			t.Errorf("%s was written", name)
		}
	}

	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestOpenGiven: a shell's <(command) is read, and no other pipe.
func TestOpenGiven(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, writeErr := write.WriteString("text")
	if err := errors.Join(writeErr, write.Close()); err != nil {
		t.Fatal(err)
	}

	own, err := beneath.OpenGiven("/dev/fd/" + strconv.Itoa(int(read.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if got, err := io.ReadAll(own); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}

	fifo := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := beneath.OpenGiven(fifo); !errors.Is(err, beneath.ErrUnfit) {
		t.Error(err)
	}
}

// TestCreate: a file is written anew, and nothing that is none.
func TestCreate(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	err := errors.Join(
		os.WriteFile(victim, []byte("kept"), 0o600),
		os.WriteFile(filepath.Join(dir, "old"), []byte("old and longer"), 0o640),
		os.Symlink("old", filepath.Join(dir, "link")),
		os.Symlink(victim, filepath.Join(dir, "out")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	write := func(name string) error {
		file, err := beneath.Create(root, name, 0o600)
		if err != nil {
			return err
		}
		_, err = file.WriteString("new")
		return errors.Join(err, file.Close())
	}

	for name, holds := range map[string]string{"old": "old", "link": "old", "fresh": "fresh"} {
		if err := write(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := beneath.Read(root, holds, 10); err != nil || string(got) != "new" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	for _, name := range []string{"pipe", "folder"} {
		if err := write(name); !errors.Is(err, beneath.ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}

	for _, name := range []string{"out", "../x", "none/x"} {
		if err := write(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}

	if got, err := os.ReadFile(victim); err != nil || string(got) != "kept" {
		t.Errorf("outside: %q, %v", got, err)
	}
}

// TestReadFolder: a folder is listed by name up to a bound, links lead no further than the folder above it, and a pipe
// in its place holds nobody up.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "folder", "b"), 0o700),
		os.WriteFile(filepath.Join(dir, "folder", "a"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "folder", "c"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "empty"), 0o700),
		os.Symlink("folder", filepath.Join(dir, "link")),
		os.Symlink("/etc", filepath.Join(dir, "out")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for _, c := range []struct {
		name string
		most int
		want string
	}{{"folder", 0, "a b c "}, {"folder", 3, "a b c "}, {"link", 4, "a b c "}, {"empty", 0, ""}, {"empty", 1, ""}} {
		entries, err := beneath.ReadFolder(root, c.name, c.most)
		got := ""
		for _, e := range entries {
			got += e.Name() + " "
		}
		if got != c.want || err != nil {
			t.Errorf("%s, at most %d: %q, %v", c.name, c.most, got, err)
		}
	}

	for name, want := range map[string]error{"folder": beneath.ErrUnfit, "none": os.ErrNotExist, "pipe": unix.ENOTDIR} {
		ended := make(chan error, 1)
		go func() {
			_, err := beneath.ReadFolder(root, name, 2)
			ended <- err
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s holds it up", name)
		}
	}
	if _, err := beneath.ReadFolder(root, "out", 0); err == nil {
		t.Error("a link leads out of the folder")
	}
}
