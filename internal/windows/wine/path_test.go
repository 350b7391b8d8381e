package wine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnixPath(t *testing.T) {
	prefix := t.TempDir()
	drive := filepath.Join(prefix, "Files")
	outside := t.TempDir()
	for _, d := range []string{
		"Windows/System32/drivers/etc", "k", "var/lib/kubelet/pods/UID/v", "dosdevices/c:", "K2",
		"k2",
	} {
		if err := os.MkdirAll(filepath.Join(drive, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	write := func(p string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(drive, p), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	write("Windows/System32/drivers/etc/hosts")
	write("k/Kubelet.exe")
	link := func(target, p string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(drive, p)); err != nil {
			t.Fatal(err)
		}
	}

	v := "var/lib/kubelet/pods/UID/v/"
	if err := os.Mkdir(filepath.Join(drive, v, "..2026"), 0o755); err != nil {
		t.Fatal(err)
	}

	write(v + "..2026/key")
	link("..2026", v+"..data")
	link("..data/key", v+"key")
	link(drive+"/k", "abs")
	link(filepath.Join(prefix, "dosdevices/c:/k"), "dos")
	link("../../dosdevices/c:/k", "k/dos-from-here")
	link("../../dosdevices/z:/etc", "k/drive-z")
	link("../../dosdevices/c:/../../etc", "k/dos-and-out")
	link(outside, "evil")
	link("../../..", "k/up")
	link("../..", "k/upup")
	link("/", "slash")
	link("loop2", "loop1")
	link("loop1", "loop2")
	link("../not-there/x/../../../../..", "k/ghost")
	link("not-there/../evil", "beside")
	link("nowhere/at/all", "dangling")
	link("not-there/../k", "over-nothing")
	link("k/up/../kubelet.exe", "over-a-link")
	link(`k\..\k`, "back")

	for _, tt := range []struct{ name, in, want string }{
		{"root", `C:\`, ""},
		{"empty", "", ""},
		{"letter alone", "c:", ""},
		{"hosts file of the kubelet", `C:\Windows\System32\drivers\etc\hosts`, "Windows/System32/drivers/etc/hosts"},
		{"other case", `c:\WINDOWS\system32\DRIVERS\ETC\HOSTS`, "Windows/System32/drivers/etc/hosts"},
		{"no drive letter", "/var/lib/kubelet", "var/lib/kubelet"},
		{"relative", `k\kubelet.EXE`, "k/Kubelet.exe"},
		{"mixed slashes", `c:/Windows\system32//drivers/`, "Windows/System32/drivers"},
		{"verbatim", `\\?\C:\k\kubelet.exe`, "k/Kubelet.exe"},
		{"dot dot inside", `C:\k\..\Windows`, "Windows"},
		{"trailing dots and spaces", `C:\k. .\kubelet.exe `, "k/Kubelet.exe"},
		{"missing keeps its case", `C:\K\New\File.txt`, "k/New/File.txt"},
		{"exact case wins", `C:\K2`, "K2"},
		{"exact case wins again", `C:\k2`, "k2"},
		{"link chain", `c:\var\lib\kubelet\pods\uid\v\key`, v + "..2026/key"},
		{"absolute link inside", `C:\abs\kubelet.exe`, "k/Kubelet.exe"},
		{"link through dosdevices", `C:\dos\kubelet.exe`, "k/Kubelet.exe"},
		{"relative link through dosdevices", `C:\k\dos-from-here\kubelet.exe`, "k/Kubelet.exe"},
		{"dangling link inside", `C:\dangling`, "nowhere/at/all"},
		{".. of a link's text goes up by text, over what is not there", `C:\over-nothing\kubelet.exe`, "k/Kubelet.exe"},
		{".. of a link's text goes up by text, not over links", `C:\over-a-link`, "k/Kubelet.exe"},
		{"below a file", `C:\k\kubelet.exe\x`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := UnixPath(drive, tt.in)
			if tt.name == "below a file" {
				if err == nil {
					t.Fatalf("UnixPath(%q) = %q, want an error", tt.in, got)
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(drive, tt.want); got != want {
				t.Errorf("UnixPath(%q) = %q, want %q", tt.in, got, want)
			}
		})
	}

	for _, in := range []string{
		`C:\..`, `..\..\etc\passwd`, `C:\k\..\..\x`, `C:\k\drive-z`, `C:\k\dos-and-out\x`, `C:\evil`, `C:\evil\x`, `C:\slash\etc\passwd`, `C:\k\up`, `C:\k\up\etc`,
		`C:\k\upup\x`, `C:\SLASH\etc`, `C:\k\ghost`, `C:\beside`,
	} {
		got, err := UnixPath(drive, in)
		if !errors.Is(err, ErrLeavesDrive) {
			t.Errorf("UnixPath(%q) = %q, %v; want ErrLeavesDrive", in, got, err)
		}
	}

	for in, word := range map[string]string{
		`D:\x`: "no drive D:", `\\server\share`: "network", `\\.\pipe\x`: "device", "C:\\a\x00b": "NUL", `C:\a:stream`: "character",
		`C:\loop1`: "too many", `C:\back`: "back slash", `\\?\UNC\server\share`: "", `C:\a*`: "character",
	} {
		got, err := UnixPath(drive, in)
		if word == "" {
			// After the verbatim prefix UNC is just the name of a folder below the drive: harmless.
			if err == nil && !strings.HasPrefix(got, drive) {
				t.Errorf("UnixPath(%q) = %q", in, got)
			}
			continue
		}

		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("UnixPath(%q) = %q, %v; want an error with %q", in, got, err, word)
		}
	}

	if _, err := UnixPath(filepath.Join(prefix, "none"), `C:\`); err == nil {
		t.Error("a drive that is not there was mapped")
	}
}

func FuzzUnixPath(f *testing.F) {
	drive := f.TempDir()
	if err := os.MkdirAll(filepath.Join(drive, "a/b"), 0o755); err != nil {
		f.Fatal(err)
	}
	for target, name := range map[string]string{"..": "a/up", "/etc": "abs", "../..": "a/b/upup", "a/b": "in"} {
		if err := os.Symlink(target, filepath.Join(drive, name)); err != nil {
			f.Fatal(err)
		}
	}

	for _, s := range []string{`C:\a\up\a`, `a/b/upup`, `abs/passwd`, `in/upup/..`, `C:\in\..\..`} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, p string) {
		got, err := UnixPath(drive, p)
		if err == nil && got != drive && !strings.HasPrefix(got, drive+"/") {
			t.Errorf("UnixPath(%q) = %q leaves the drive", p, got)
		}
	})
}

// TestLinksOfWindowsPrograms follows links as Windows programs write them, by way of dosdevices, and no further than
// the drive.
func TestLinksOfWindowsPrograms(t *testing.T) {
	prefix := t.TempDir()
	drive := filepath.Join(prefix, "Files")
	if err := os.MkdirAll(filepath.Join(drive, "a"), 0o755); err != nil {
		t.Fatal(err)
	}

	for name, target := range map[string]string{
		"link": "../../dosdevices/c:/b/file", "junction": "../../dosdevices/./c:/b", "root": "../../dosdevices/c:",
		"out": "../../dosdevices/c:/../x",
		"etc": "../../dosdevices/z:/etc", "high": "../../../dosdevices/c:/b", "deep": "../dosdevices/c:/b",
	} {
		if err := os.Symlink(target, filepath.Join(drive, "a", name)); err != nil {
			t.Fatal(err)
		}
	}

	for path, want := range map[string]string{
		`C:\a\link`: "b/file", `C:\a\junction\c`: "b/c", `C:\a\root\d`: "d",
		`C:\a\deep`: "dosdevices/c:/b",
	} {
		got, err := UnixPath(drive, path)
		if err != nil || got != filepath.Join(drive, want) {
			t.Errorf("%s: %q, %v, want %s", path, got, err, want)
		}
	}

	for _, path := range []string{`C:\a\out`, `C:\a\etc`, `C:\a\high`} {
		if got, err := UnixPath(drive, path); !errors.Is(err, ErrLeavesDrive) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

func TestLinkOnC(t *testing.T) {
	for text, want := range map[string]string{
		"../dosdevices/c:/work/":      "/work/",
		"../../../dosdevices/c:/a/b":  "/a/b",
		"../dosdevices/./c:/junction": "/junction",
		"dosdevices/c:":               "",
		"../dosdevices/c:/../x":       "/../x",
	} {
		if got, ok := LinkOnC(text); got != want || !ok {
			t.Errorf("%q leads to %q, %t, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "work", "../work", "../dosdevices/c:x", "../dosdevices/d:/x", "/dosdevices/c:/x", "a/dosdevices/c:/x"} {
		if got, ok := LinkOnC(text); ok {
			t.Errorf("%q leads to %q on C:", text, got)
		}
	}
}
