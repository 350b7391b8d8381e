package wine

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// patterns are like the CRI server's.
func patterns() []string {
	return []string{"var/lib/kubelet/pods/*/volumes/kubernetes.io~csi/*/mount", "var/lib/kubelet/pods/*/volumes/*/*"}
}

// opens returns the folder that OpenSource opens.
func opens(t *testing.T, drive, winPath string) (string, error) {
	t.Helper()
	prefix := filepath.Dir(drive)
	file, err := OpenSource(drive, winPath, patterns(), Mounted{
		Shares: filepath.Join(prefix, "shares"), Volumes: filepath.Join(prefix, "volumes"),
	})
	if err != nil {
		return "", err
	}
	defer file.Close()
	return realPath(t, int(file.Fd())), nil
}

// realPath returns where an open file is by now.
func realPath(t *testing.T, fd int) string {
	t.Helper()
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenSource opens sources in a volume and beside it.
func TestOpenSource(t *testing.T) {
	const (
		pods   = "var/lib/kubelet/pods/uid/volumes/"
		v      = pods + "kubernetes.io~empty-dir/v/"
		winPod = `C:\var\lib\kubelet\pods\uid\volumes\`
		winV   = winPod + `kubernetes.io~empty-dir\v\`
	)

	prefix := t.TempDir()
	drive := filepath.Join(prefix, "Files")
	for _, d := range []string{
		"windows", "real/pv/sub", "data", v + "sub/deep", v + "..2026", pods + "kubernetes.io~local-volume",
		pods + "kubernetes.io~csi/c", pods + "other~plugin/w/sub",
	} {
		if err := os.MkdirAll(filepath.Join(drive, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	const up = "../../../../../../../../"
	for name, text := range map[string]string{
		v + "..data": "..2026", v + "key": "..data/key", v + "..2026/key": "../sub",
		v + "in": "sub/deep", v + "self": ".", v + "sub/root": "..", v + "sub/deep/back": "../../sub",
		v + "up": up + "windows", v + "x": "up/..", v + "y": "sub/../up", v + "parent": "..",
		v + "dos": up + "../dosdevices/c:/" + v + "sub", v + "dos-out": up + "../dosdevices/c:/windows",
		v + "back-in": "../v/sub", v + "linux": filepath.Join(drive, v, "sub"), v + "machine": "/etc",
		v + "linux-out": filepath.Join(drive, "windows"), v + "neighbour": "../../other~plugin/w",
		v + "dangling": "nowhere", v + "over": "key/../../v/in", v + "lift": "sub", v + "sub/out": "../../v2",
		v + "loop": "loop", v + "named": `sub\deep`, v + "drive-d": up + "../dosdevices/d:/x",
		pods + "kubernetes.io~local-volume/pv": "../../../../../../../real/pv",
		pods + "kubernetes.io~csi/c/mount":     "../../../../../../../../../dosdevices/c:/real/pv",
		"real/pv/again":                        "../../" + pods + "kubernetes.io~local-volume/pv/sub",
		"real/pv/real":                         "../pv/sub", "real/pv/away": "../../data",
		"hostlink": "data", "away": "/etc",
	} {
		if err := os.Symlink(text, filepath.Join(drive, name)); err != nil {
			t.Fatal(err)
		}
	}

	for path, want := range map[string]string{
		winV: v, winV + `sub\deep`: v + "sub/deep", winV + `SUB\Deep`: v + "sub/deep", winV + `key`: v + "sub",
		winV + `in`: v + "sub/deep", winV + `self\in`: v + "sub/deep", winV + `sub\root\in`: v + "sub/deep",
		winV + `sub\root`: v, winV + `in\back`: v + "sub", winV + `x`: v, winV + `x\sub`: v + "sub",
		winV + `dos\deep`: v + "sub/deep", winV + `back-in`: v + "sub", winV + `linux`: v + "sub",
		winV + `over`: v + "sub/deep", winV + `new\er`: v + "new/er", winV + `..\v\sub`: v + "sub",
		`c:/VAR/lib/Kubelet/pods/UID/volumes/kubernetes.io~empty-dir/V/x`: v,
		winPod + `kubernetes.io~local-volume\pv\sub`:                      "real/pv/sub",
		winPod + `kubernetes.io~local-volume\pv`:                          "real/pv",
		winPod + `kubernetes.io~local-volume\pv\again`:                    "real/pv/sub",
		winPod + `kubernetes.io~local-volume\pv\real`:                     "real/pv/sub",
		winPod + `kubernetes.io~csi\c\mount\sub`:                          "real/pv/sub",
		`C:\hostlink`:                                                     "data", `C:\made\by\us`: "made/by/us",
		winPod + `other~plugin\w\sub`: pods + "other~plugin/w/sub",
	} {
		got, err := opens(t, drive, path)
		if err != nil || got != filepath.Join(drive, want) {
			t.Errorf("%s: %q, %v, want %s", path, got, err, want)
		}
	}

	for path, want := range map[string]error{
		winV + `up`: ErrLeavesVolume, winV + `up\var`: ErrLeavesVolume, winV + `y`: ErrLeavesVolume,
		winV + `parent`: ErrLeavesVolume, winV + `parent\v\sub`: ErrLeavesVolume, winV + `dos-out`: ErrLeavesVolume,
		winV + `machine\passwd`: ErrLeavesVolume, winV + `linux-out`: ErrLeavesVolume, winV + `in\..\up`: ErrLeavesVolume,
		winV + `neighbour\sub`: ErrLeavesVolume, winV + `lift\out`: ErrLeavesVolume, winV + `drive-d`: ErrLeavesVolume,
		winPod + `kubernetes.io~local-volume\pv\away`: ErrLeavesVolume,
		winPod + `kubernetes.io~csi\c\mount\away`:     ErrLeavesVolume,
		winV + `dangling`: fs.ErrNotExist, `C:\away\x`: ErrLeavesDrive, `C:\..\x`: ErrLeavesDrive,
	} {
		if got, err := opens(t, drive, path); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", path, got, err, want)
		}
	}

	for path, words := range map[string]string{winV + "loop": "too many", winV + "named": "back slash"} {
		if got, err := opens(t, drive, path); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %q, %v, want %s", path, got, err, words)
		}
	}

	if _, err := os.Lstat(filepath.Join(drive, v, "nowhere")); err == nil {
		t.Error("what a link leads to was made")
	}
	if info, err := os.Stat(filepath.Join(drive, v, "new/er")); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("a folder that was missing: %v, %v", info, err)
	}
}

// TestOpenSourceMounted follows links of the drive to shares and volumes, and none out of these. What the prefix has as
// their names does not count: the host may write there.
func TestOpenSourceMounted(t *testing.T) {
	const (
		guid  = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
		other = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
		csi   = "var/lib/kubelet/pods/uid/volumes/kubernetes.io~csi/c"
		empty = "var/lib/kubelet/pods/uid/volumes/kubernetes.io~empty-dir/v"
		up    = "../../../../../../../../"
	)

	prefix, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range []string{
		"Files/staged", "Files/" + csi, "Files/" + empty, "shares/server/share/sub", "volumes/" + guid + "/sub", "volumes/" + other,
		"secret", "dosdevices",
	} {
		if err := os.MkdirAll(filepath.Join(prefix, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{
		"Files/staged/v":                  "../../dosdevices/./volume{" + guid + "}/",
		"Files/staged/s":                  "../../dosdevices/unc/server/share",
		"Files/" + csi + "/mount":         up + "../dosdevices/c:/staged/v",
		"Files/staged/none":               "../../dosdevices/volume{3f2504e0-4f89-41d3-9a0c-0305e82c3303}",
		"Files/staged/odd":                "../../dosdevices/volume{../secret}",
		"Files/" + empty + "/v":           up + "../dosdevices/volume{" + guid + "}",
		"volumes/" + guid + "/next":       "../" + other,
		"volumes/" + guid + "/again":      "../../dosdevices/volume{" + other + "}",
		"volumes/" + guid + "/in":         "sub",
		"dosdevices/volume{" + guid + "}": "../secret",
		"dosdevices/unc":                  "../secret",
	} {
		if err := os.Symlink(text, filepath.Join(prefix, name)); err != nil {
			t.Fatal(err)
		}
	}

	winEmpty := `C:\` + strings.ReplaceAll(empty, "/", `\`)
	for path, want := range map[string]string{
		`C:\staged\v`: "volumes/" + guid, `C:\staged\V\SUB`: "volumes/" + guid + "/sub", `C:\staged\v\in`: "volumes/" + guid + "/sub",
		`C:\staged\s\sub`: "shares/server/share/sub", `C:\` + strings.ReplaceAll(csi, "/", `\`) + `\mount\sub`: "volumes/" + guid + "/sub",
		`C:\staged\none`: "", `C:\staged\odd`: "", `C:\staged\v\next`: "", `C:\staged\v\again`: "", winEmpty + `\v`: "",
	} {
		got, err := opens(t, filepath.Join(prefix, "Files"), path)
		if err == nil != (want != "") || (err == nil && got != filepath.Join(prefix, want)) {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
}

// jungle is a random volume with links, and a random path in it.
type jungle struct {
	random *rand.Rand
	drive  string
	volume string // below the drive
	// plain says that no link's text goes up after it has gone down, so that Linux and Windows read it alike.
	plain bool
}

func (j jungle) name() string { return string(rune('a' + j.random.IntN(4))) }

func (j jungle) text() string {
	var parts []string
	for range 1 + j.random.IntN(4) {
		switch {
		case j.random.IntN(3) > 0:
			parts = append(parts, j.name())
		case j.plain:
			parts = append([]string{".."}, parts...)
		default:
			parts = append(parts, "..")
		}
	}

	text := strings.Join(parts, "/")
	if !j.plain && j.random.IntN(8) == 0 {
		text = filepath.Join(j.drive, text)
	}

	return text
}

// grow fills a folder.
func (j jungle) grow(t *testing.T, dir string, depth int) {
	t.Helper()
	for _, name := range []string{"a", "b", "c", "d"} {
		path, err := filepath.Join(dir, name), error(nil)
		switch n := j.random.IntN(10); {
		case n < 4 && depth > 0:
			if err = os.Mkdir(path, 0o755); err == nil {
				j.grow(t, path, depth-1)
			}
		case n < 8:
			err = os.Symlink(j.text(), path)
		case n < 9:
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// check resolves a random path and compares with what Linux says.
func (j jungle) check(t *testing.T) {
	t.Helper()
	root := filepath.Join(j.drive, j.volume)
	var parts []string
	for range 1 + j.random.IntN(4) {
		parts = append(parts, j.name())
	}

	winPath := `C:\` + strings.ReplaceAll(j.volume, "/", `\`) + `\` + strings.Join(parts, `\`)
	at, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)

	linux, linuxErr := unix.Openat2(at, strings.Join(parts, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
	want := ""
	if linuxErr == nil {
		want = realPath(t, linux)
		_ = unix.Close(linux)
	}

	got, err := opens(t, j.drive, winPath)
	if err == nil && got != root && !strings.HasPrefix(got, root+"/") {
		t.Fatalf("%s: %s is outside the volume", winPath, got)
	}
	if j.plain && linuxErr == nil && (err != nil || got != want) {
		t.Fatalf("%s: %q, %v; Linux says %s", winPath, got, err, want)
	}

	if j.plain && errors.Is(linuxErr, unix.ELOOP) && err == nil {
		t.Fatalf("%s: %q; Linux says that there are too many links", winPath, got)
	}
}

// tryJungle makes a volume from a seed and tries paths in it.
func tryJungle(t *testing.T, seed uint64, paths int) {
	t.Helper()
	prefix, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	random := rand.New(rand.NewPCG(seed, 0))
	j := jungle{
		random: random,
		drive:  filepath.Join(prefix, "Files"),
		volume: "var/lib/kubelet/pods/u/volumes/p/n",
		plain:  seed%2 == 0,
	}

	for _, dir := range []string{j.volume, "a/b", "c", "var/lib/kubelet/pods/u/volumes/p/a/b"} {
		if err := os.MkdirAll(filepath.Join(j.drive, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	j.grow(t, filepath.Join(j.drive, j.volume), 3)
	for range paths {
		j.check(t)
	}
}

// TestOpenSourceStaysInVolume: whatever links there are in a volume, what is opened is in it; and where Linux' rules
// and Windows' agree, it is what Linux would open.
func TestOpenSourceStaysInVolume(t *testing.T) {
	for seed := range uint64(100) {
		tryJungle(t, seed, 20)
	}
}

func FuzzOpenSource(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { tryJungle(t, seed, 50) })
}

// FuzzFollow: a link's text leads to a path without .. in the volume, or nowhere.
func FuzzFollow(f *testing.F) {
	for _, text := range []string{
		"..", "../..", "up/..", "a/../../..", "/d/Files/v/n/x", "../../../dosdevices/c:/v/n/x", `a\..\..`, "/", "//", "./",
	} {
		f.Add("a/b", text)
	}

	f.Fuzz(func(t *testing.T, dir, text string) {
		var parts []string
		for part := range strings.SplitSeq(dir, "/") {
			if part != "" && part != "." && part != ".." {
				parts = append(parts, part)
			}
		}

		b := bound{
			drive: "/d/Files",
			parts: []string{"v", "n"},
			asked: []string{"l"},
		}

		got, _, err := b.follow(parts, text)
		for _, part := range got {
			if part == "" || part == "." || part == ".." || strings.Contains(part, "/") || err != nil {
				t.Errorf("follow(%q, %q) = %q, %v", parts, text, got, err)
			}
		}
	})
}
