//go:build wine

package winapi

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// oddNames are names that Windows does not have, or that Windows and Wine may take for others.
var oddNames = []string{
	`a\b`, "a*b", "a?b", "a|b", "a<b", "a>b", `a"b`, "a:b", "\x01ctl", "new\nline", " lead", "trail ", "trail  ", "dot.",
	"dots...", "...", ".. ", "\xff\xfe\xfd", "\xff", "\xfe", "\xc3", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf", "\xef\xbf\xbd", "con", "CON",
	"nul.txt", "aux ", "com1", "lpt9.x.y", "conin$", "com0", "cone", `..\up`, `..\v`, `..\..\..\..\windows`, `c:\windows`, "c:",
	"%TEMP%", "\xe2\x80\xae", "\xef\x80\xaa", "\xef\x80\xaf", "\xef\x80\x80", "\xef\x83\xbf", "\xef\x83\xbf*", "a*b", "A*B", "ä", "Ä", "日本",
	"\xf0\x9f\x90\x9a", "\xf0\x9f\x90\x9a*", "plain", "Plain", "PLAIN~1", "a b", ".hidden", "-", "*", "?", `\`, "*.*", "x.", "x", "dosdevices",
	strings.Repeat("\xff", 255), strings.Repeat("*", 255), strings.Repeat("l", 255), strings.Repeat("ö", 127) + ".",
}

// tree makes folders, files and links with odd names below an open folder. A file's content is its name, in
// hexadecimal. It counts the entries and the bytes of the files.
type tree struct {
	random  *rand.Rand
	entries int
	bytes   int64
}

func (tr *tree) name() string {
	if tr.random.IntN(3) > 0 {
		return oddNames[tr.random.IntN(len(oddNames))]
	}

	name := make([]byte, 1+tr.random.IntN(12))
	for i := range name {
		name[i] = byte(1 + tr.random.IntN(255))
		if name[i] == '/' {
			name[i] = '.'
		}
	}

	if s := string(name); s != "." && s != ".." {
		return s
	}
	return "dot"
}

// fill makes so many entries in a folder; a name that is there already is not counted.
func (tr *tree) fill(folder, most, depth int) error {
	for range most {
		name := tr.name()
		kind := tr.random.IntN(10)
		var size int64
		var err error
		switch {
		case kind < 4 && depth > 0:
			err = tr.folder(folder, name, depth)
		case kind == 4:
			err = unix.Symlinkat(oddNames[tr.random.IntN(len(oddNames))], folder, name)
		default:
			size, err = file(folder, name)
		}
		if errors.Is(err, unix.EEXIST) {
			continue
		}

		if err != nil {
			return fmt.Errorf("make %q: %w", name, err)
		}
		tr.entries++
		tr.bytes += size
	}

	return nil
}

func (tr *tree) folder(parent int, name string, depth int) error {
	if err := unix.Mkdirat(parent, name, 0o755); err != nil {
		return err
	}
	folder, err := unix.Openat(parent, name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(folder) }()
	return tr.fill(folder, 1+tr.random.IntN(8), depth-1)
}

func file(folder int, name string) (int64, error) {
	fd, err := unix.Openat(folder, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Write(fd, []byte(hex.EncodeToString([]byte(name))))
	return int64(n), err
}

// makeTree makes a folder of that name in dir, and fills it.
func makeTree(t *testing.T, dir, name string, fill func(folder int) error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	folder, err := unix.Open(filepath.Join(dir, name), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(folder) }()
	if err := fill(folder); err != nil {
		t.Fatal(err)
	}
}

// deepTree makes so many folders in one another, with a file in every tenth.
func deepTree(folder, levels, length int) error {
	name := strings.Repeat("d", length)
	for i := range levels {
		if err := unix.Mkdirat(folder, name, 0o755); err != nil {
			return err
		}
		next, err := unix.Openat(folder, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if i > 0 {
			_ = unix.Close(folder)
		}

		if err != nil {
			return err
		}
		folder = next
		if i%10 == 0 {
			if _, err := file(folder, "a*b"); err != nil {
				return err
			}
		}
	}

	return unix.Close(folder)
}

// sizesTree makes files whose size is not what they take of the disk, twice: under names of either kind.
func sizesTree(folder int) error {
	for _, name := range []string{"plain", "o*d"} {
		for _, step := range []struct {
			name string
			do   func(fd int) error
		}{
			{"hole", func(fd int) error { return unix.Ftruncate(fd, 1<<40) }},
			{"behind", func(fd int) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 4<<20) }},
			{"small", func(fd int) error {
				_, err := unix.Write(fd, []byte("123"))
				return errors.Join(err, unix.Fsync(fd))
			}},
		} {
			fd, err := unix.Openat(folder, name+"-"+step.name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			if err != nil {
				return err
			}
			if err := errors.Join(step.do(fd), unix.Close(fd)); err != nil {
				return err
			}
		}
	}

	return nil
}

// TestOddNames has a Windows program walk, read and remove trees that raw system calls of Linux have made.
func TestOddNames(t *testing.T) {
	p := newPrefix(t)
	program := filepath.Join(p.dir, "drive_c/winapi.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./prog")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the test program: %v\n%s", err, out)
	}

	if err := os.Remove(filepath.Join(p.dir, "dosdevices/z:")); err != nil {
		t.Fatal(err) // a Windows host has no drive Z:
	}

	odd := filepath.Join(p.dir, "drive_c/odd")
	seed := testrun.Seed(t)
	for i := range 6 {
		tr := tree{random: rand.New(rand.NewPCG(seed, uint64(i)))}
		name := fmt.Sprintf("tree-%d", i)
		makeTree(t, odd, name, func(folder int) error { return tr.fill(folder, 30, 3) })
		want := fmt.Sprintf("%d %d", tr.entries, tr.bytes)
		if err := os.WriteFile(filepath.Join(odd, name+".want"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	outside := filepath.Join(t.TempDir(), "outside")
	makeTree(t, filepath.Dir(outside), "outside", func(folder int) error {
		_, err := file(folder, "victim")
		return err
	})

	makeTree(t, odd, "all", func(folder int) error {
		if err := unix.Symlinkat(outside, folder, "out*side"); err != nil {
			return err
		}
		for _, name := range oddNames {
			if _, err := file(folder, name); err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
		}

		return nil
	})
	makeTree(t, odd, "deep", func(folder int) error { return deepTree(folder, 1000, 200) })
	makeTree(t, odd, "writes", func(int) error { return nil })
	makeTree(t, odd, "sizes", sizesTree)
	run := p.command(t, `C:\winapi.exe`, "-test.v", "-test.run=^TestOdd", "-test.timeout=240s")
	run.Dir = filepath.Join(p.dir, "drive_c")
	inProgram(t, run, 4)
	checkOdd(t, odd)

	// The kubelet's listings say what a file takes of the disk, those of other programs how long it is.
	kubelet := filepath.Join(p.dir, "drive_c/kubelet.exe")
	if err := os.Link(program, kubelet); err != nil {
		t.Fatal(err)
	}

	inProgram(t, p.command(t, `C:\kubelet.exe`, "-test.v", "-test.run=^TestSizesOfRoom", "-test.timeout=60s"), 1)
	inProgram(t, p.command(t, `C:\winapi.exe`, "-test.v", "-test.run=^TestSizesOfFiles", "-test.timeout=60s"), 1)
	if _, err := os.Stat(filepath.Join(outside, "victim")); err != nil {
		t.Errorf("a link that leads out of the drive was followed: %v", err)
	}
}

// checkOdd looks at what the program has left: of the trees nothing, and what it wrote has the names of Linux.
func checkOdd(t *testing.T, odd string) {
	t.Helper()
	for _, pattern := range []string{"tree-*[0-9]", "all", "deep"} {
		if left, err := filepath.Glob(filepath.Join(odd, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left of %s: %q, %v", pattern, left, err)
		}
	}

	for name, want := range map[string]string{
		`made*file`: "made", `made\folder/in`: "inner", "\xffrenamed": "renamed", "plain": "was odd", `hard|link`: "was odd",
	} {
		if got, err := os.ReadFile(filepath.Join(odd, "writes", name)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}

	if got, err := os.Readlink(filepath.Join(odd, "writes", "li?nk")); err != nil || got != `made\folder/in` {
		t.Errorf("the link: %q, %v", got, err)
	}
}
