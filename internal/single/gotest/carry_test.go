package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// place is a scratch folder and the folders of a person, of whom nobody is root.
type place struct {
	t             *testing.T
	scratch, home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	p := place{
		t:       t,
		scratch: t.TempDir(),
		home:    t.TempDir(),
	}
	if err := os.Chown(p.home, 1000, 1001); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) write(path, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p place) has(path, want string) {
	p.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		p.t.Errorf("%s has %q (%v), want %q", path, got, err, want)
	}
}

// owned holds whom a file belongs to.
func (p place) owned(path string, uid, gid uint32) {
	p.t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != uid || stat.Gid != gid {
		p.t.Errorf("%s belongs to %d:%d, not %d:%d", path, stat.Uid, stat.Gid, uid, gid)
	}
}

// TestCarry copies a folder to the program and what it has written back.
func TestCarry(t *testing.T) {
	p := newPlace(t)
	cache, out := filepath.Join(p.home, "cache"), filepath.Join(p.home, "new", "out")
	p.write(filepath.Join(cache, "old"), "old")
	p.write(filepath.Join(cache, "deep", "changed"), "before")
	p.write(filepath.Join(p.home, "there"), "a longer text than the new one")
	if err := os.Symlink("/etc/passwd", filepath.Join(cache, "link")); err != nil {
		t.Fatal(err)
	}

	c := &Call{scratch: p.scratch, outputs: []output{
		{cache, "fuzzcachedir", folder},
		{out, "outputdir", folder},
		{filepath.Join(p.home, "there"), "trace", file},
		{filepath.Join(p.home, "cover"), "coverprofile", file},
		{filepath.Join(p.home, "unwritten"), "memprofile", file},
		{os.DevNull, "cpuprofile", file},
	}}

	if err := c.begin(); err != nil {
		t.Fatal(err)
	}

	given := filepath.Join(p.scratch, "fuzzcachedir")
	p.has(filepath.Join(given, "old"), "old")
	p.owned(filepath.Join(given, "deep"), owner, owner)
	p.owned(filepath.Join(given, "deep", "changed"), owner, owner)
	if _, err := os.Lstat(filepath.Join(given, "link")); err == nil {
		t.Error("a link was given to the program")
	}

	// What the program does. Its folder is written to meanwhile by somebody else too, who is not undone.
	p.write(filepath.Join(given, "deep", "changed"), "after")
	p.write(filepath.Join(given, "deep", "new"), "new")
	p.write(filepath.Join(p.scratch, "outputdir", "a", "b"), "artifact")
	p.write(filepath.Join(p.scratch, "trace"), "short")
	p.write(filepath.Join(p.scratch, "coverprofile"), "mode: set")
	p.write(filepath.Join(p.scratch, "cpuprofile"), "nobody wants it")
	p.write(filepath.Join(cache, "old"), "somebody else's")
	if err := c.Finish(); err != nil {
		t.Fatal(err)
	}

	p.has(filepath.Join(cache, "old"), "somebody else's")
	p.has(filepath.Join(cache, "deep", "changed"), "after")
	p.has(filepath.Join(cache, "deep", "new"), "new")
	p.has(filepath.Join(out, "a", "b"), "artifact")
	p.has(filepath.Join(p.home, "there"), "short")
	p.has(filepath.Join(p.home, "cover"), "mode: set")
	p.owned(filepath.Join(p.home, "cover"), 1000, 1001)
	if _, err := os.Lstat(filepath.Join(p.home, "unwritten")); err == nil {
		t.Error("a file is there that the program has not written")
	}
}

// TestCarryOfHostilePrograms: what they put in the place of files leads nowhere, and holds nobody up.
func TestCarryOfHostilePrograms(t *testing.T) {
	testrun.Once(t, testrun.Attack)

	for name, do := range map[string]func(path string) error{
		"a link out of the folder":    func(path string) error { return os.Symlink("/etc/shadow", path) },
		"a pipe":                      func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"a folder":                    func(path string) error { return os.Mkdir(path, 0o777) },
		"a link to a file of its own": func(path string) error { return os.Symlink("none", path) },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := newPlace(t)
			c := &Call{scratch: p.scratch, outputs: []output{{filepath.Join(p.home, "cover"), "coverprofile", file}}}
			if err := c.begin(); err != nil {
				t.Fatal(err)
			}
			if err := do(filepath.Join(p.scratch, "coverprofile")); err != nil {
				t.Fatal(err)
			}

			ended := make(chan error, 1)
			go func() { ended <- c.Finish() }()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("it is taken")
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it holds up who reads")
			}

			if _, err := os.Lstat(filepath.Join(p.home, "cover")); err == nil {
				t.Error("something was put in the file's place")
			}
		})
	}
}

// TestCarryOfTooMuch ends at a folder that a program made too deep.
func TestCarryOfTooMuch(t *testing.T) {
	p := newPlace(t)
	c := &Call{scratch: p.scratch, outputs: []output{{filepath.Join(p.home, "out"), "outputdir", folder}}}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	p.write(filepath.Join(p.scratch, "outputdir", strings.Repeat("d/", mostDepth+1), "file"), "deep")
	if err := c.Finish(); err == nil || !strings.Contains(err.Error(), "in each other") {
		t.Errorf("the error is %v", err)
	}
}
