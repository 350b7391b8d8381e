package single

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestUmask: to prepare the folders leaves a person's umask as it was, also if it fails.
func TestUmask(t *testing.T) {
	p := At(t.TempDir(), "/nowhere")
	if err := os.WriteFile(filepath.Join(p.Data, "version"), []byte("1\n"), 0o600); err != nil { // a cluster's
		t.Fatal(err)
	}
	before := unix.Umask(0o077)
	err := p.Prepare()
	if after := unix.Umask(before); err == nil || after != 0o077 {
		t.Errorf("%v, the umask is %#o", err, after)
	}
}

// TestBeginAtOnce: several commands may be the first in a folder, also in one that a killed command has begun. One with
// somebody's files is refused.
func TestBeginAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	for range 20 {
		p := At(t.TempDir(), "/nowhere")
		file := filepath.Join(p.Data, versionFile)
		if err := os.WriteFile(filepath.Join(p.Data, "."+versionFile+".ABC"), nil, 0o600); err != nil {
			t.Fatal(err)
		}

		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := p.begin(file); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if entries, err := os.ReadDir(p.Data); len(entries) != 1 || err != nil {
			t.Errorf("there are %v, %v", entries, err)
		}
	}

	p := At(t.TempDir(), "/nowhere")
	if err := os.WriteFile(filepath.Join(p.Data, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.begin(filepath.Join(p.Data, versionFile)); err == nil {
		t.Error("somebody's folder is taken")
	}
}

// TestAskAgain: an engine that ends is asked again, unless it has begun a program: that would run twice.
func TestAskAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		says  string // of the first engine
		begun bool
	}{
		"it says nothing":        {"", false},
		"it was busy":            {`{"Doing":"pulling"}`, false},
		"a program is begun":     {`{"Doing":"pulling"}{"Begins":true}`, true},
		"a program is begun now": {`{"Begins":true}{"Doing":"waiting"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, listener := fakeEngine(t)

			asked := make(chan int, 1)
			go func() {
				n := 0
				defer func() { asked <- n }()
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 4096))
					answer := tt.says
					if n++; n > 1 {
						answer = `{"Started":"again"}`
					}
					_, _ = io.WriteString(conn, answer)
					_ = conn.Close()
				}
			}()

			id, err := c.Start(t.Context(), Run{})
			_ = listener.Close()
			n := <-asked
			switch {
			case tt.begun && (n != 1 || !errors.Is(err, errBegun)):
				t.Errorf("it was asked %d times, and %v", n, err)
			case !tt.begun && (n != 2 || id != "again" || err != nil):
				t.Errorf("it was asked %d times: %q, %v", n, id, err)
			}
		})
	}
}

// TestClearLeft: the archives and folders of clients that were killed go, those of clients that live stay.
func TestClearLeft(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	p := At(filepath.Join(t.TempDir(), "[x"), "/nowhere") // no pattern
	at := func(name string) string { return filepath.Join(p.Data, name) }
	err := os.MkdirAll(at("scratch-1/in/it"), 0o700)
	for _, name := range []string{"image-1.tar", "image-2.tar", "image-other"} {
		err = errors.Join(err, os.WriteFile(at(name), []byte("x"), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}

	used, err := os.Open(at("image-2.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	if err := unix.Flock(int(used.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}

	if err := p.clearLeft(); err != nil {
		t.Error(err)
	}
	var left []string
	entries, err := os.ReadDir(p.Data)
	for _, e := range entries {
		left = append(left, e.Name())
	}

	if diff := cmp.Diff([]string{"image-2.tar", "image-other"}, left); diff != "" || err != nil {
		t.Errorf("%s%v", diff, err)
	}
}

// TestScratch: a folder that is used stays when another one is made, and goes with all that is in it.
func TestScratch(t *testing.T) {
	c := &Client{Paths: At(filepath.Join(t.TempDir(), "data"), "/nowhere")}
	t.Cleanup(func() { _ = os.RemoveAll(c.Paths.Run()) })
	one, err := c.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(one.Dir, "in", "it"), 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink("/etc", filepath.Join(one.Dir, "link")); err != nil {
		t.Fatal(err)
	}

	two, err := c.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(one.Dir, "in", "it")); err != nil {
		t.Error(err)
	}

	for _, s := range []*Scratch{one, two} {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(s.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %v", s.Dir, err)
		}
	}
}
