package wine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/winver"
)

// fakeWine lays out an installation below root; programs are ELF by their first bytes only.
func fakeWine(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		content := "\x7fELF"
		if strings.HasSuffix(f, ".sh") {
			path, content = strings.TrimSuffix(path, ".sh"), "#!/bin/sh"
		}

		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	debian := []string{
		"usr/lib/wine/wine64", "usr/lib/wine/wineserver64", "usr/lib/wine/wineserver.sh",
		"usr/lib/wine/wine64-preloader", "usr/lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so", "usr/share/wine/nls/l_intl.nls",
	}
	fedora := []string{
		"usr/bin/wine64", "usr/bin/wineserver64", "usr/lib64/wine/x86_64-unix/ntdll.so",
		"usr/share/wine/nls/l_intl.nls", "usr/bin/wine.sh",
	}

	winehq := []string{
		"opt/wine-stable/bin/wine", "opt/wine-stable/bin/wineserver", "opt/wine-stable/lib/wine/x86_64-unix/ntdll.so",
		"opt/wine-stable/share/wine/nls/l_intl.nls", "opt/wine-stable/lib/wine/x86_64-unix/wine-preloader",
	}

	for _, tt := range []struct {
		name    string
		files   []string
		version string
		want    Install
		err     error
	}{
		{"debian", debian, "8.0", Install{
			"8.0", "usr/lib/wine/wine64", "usr/lib/wine/wineserver64", "usr/lib/wine/wine64-preloader",
			"usr/lib/x86_64-linux-gnu/wine", "usr/share/wine",
		}, nil},
		{"fedora", fedora, "10.4", Install{
			"10.4", "usr/bin/wine64", "usr/bin/wineserver64", "", "usr/lib64/wine",
			"usr/share/wine",
		}, nil},
		{"winehq", winehq, "9.0", Install{
			"9.0", "opt/wine-stable/bin/wine", "opt/wine-stable/bin/wineserver",
			"opt/wine-stable/lib/wine/x86_64-unix/wine-preloader", "opt/wine-stable/lib/wine", "opt/wine-stable/share/wine",
		}, nil},
		{"nothing", nil, "", Install{}, ErrNotFound},
		{"loader without libraries", debian[:2], "8.0", Install{}, ErrNotFound},
		{"only scripts", []string{"usr/bin/wine.sh"}, "8.0", Install{}, ErrNotFound},
		{"too old", debian, "7.22", Install{}, ErrTooOld},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}

			fakeWine(t, root, tt.files...)
			got, err := find(root, places(), func(string) (string, error) { return tt.version, nil })
			if !errors.Is(err, tt.err) {
				t.Fatalf("err = %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}

			for _, p := range []*string{
				&tt.want.Loader, &tt.want.Server, &tt.want.Preloader, &tt.want.LibDir, &tt.want.DataDir,
			} {
				if *p != "" {
					*p = filepath.Join(root, *p)
				}
			}

			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindInFolder finds a Wine where its own build installs it, and where a package was unpacked. Its loader is not
// run here: the fake one is no program, and the error says that it was found.
func TestFindInFolder(t *testing.T) {
	own := []string{"bin/wine", "bin/wineserver", "lib/wine/x86_64-unix/ntdll.so", "share/wine/nls/l_intl.nls"}
	unpacked := []string{
		"usr/lib/wine/wine64", "usr/lib/wine/wineserver64", "usr/lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so",
		"usr/share/wine/nls/l_intl.nls",
	}

	for _, tt := range []struct {
		name  string
		files []string
		words string
	}{
		{"own build", own, "bin/wine\" for its version"},
		{"unpacked package", unpacked, "usr/lib/wine/wine64\" for its version"},
		{"without data", own[:3], "it needs bin/wine64, bin/wine or usr/lib/wine/wine64"},
		{"empty", nil, "no Wine for 64-bit programs in \""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/var/tmp", "mullion-wine-") //nolint:usetesting // not below /tmp, where a Wine cannot be
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			fakeWine(t, dir, tt.files...)
			_, err = Find(dir)
			if err == nil || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("Find: %v, want %q", err, tt.words)
			}
		})
	}
}

// TestAskVersion: a user that the machine has no name for, and whose environment has no HOME, is answered too. Wine's
// loader ends by a signal where it has neither.
func TestAskVersion(t *testing.T) {
	loader := filepath.Join(t.TempDir(), "wine64")
	script := "#!/bin/sh\n[ -n \"$HOME\" ] || kill -SEGV $$\necho 'wine-8.0 (Debian 8.0~repack-4)'\n"
	if err := os.WriteFile(loader, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "")

	if version, err := askVersion(loader); err != nil || version != "8.0" {
		t.Errorf("got %q, %v", version, err)
	}
}

// TestFindHidden: containers have folders of their own in some places, which would hide a Wine there.
func TestFindHidden(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/shm", link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/tmp", link, "/dev/shm"} {
		if _, err := Find(dir); !errors.Is(err, ErrHidden) {
			t.Errorf("Find(%q): %v, want ErrHidden", dir, err)
		}
	}
}

// TestElsewhere: a host shows /usr as it is, and these besides.
func TestElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		install Install
		want    []string
	}{
		"debian": {Install{
			Loader:  "/usr/lib/wine/wine64",
			Server:  "/usr/lib/wine/wineserver64",
			LibDir:  "/usr/lib/x86_64-linux-gnu/wine",
			DataDir: "/usr/share/wine",
		}, nil},
		"winehq": {Install{
			Loader:  "/opt/wine-stable/bin/wine",
			Server:  "/opt/wine-stable/bin/wineserver",
			LibDir:  "/opt/wine-stable/lib/wine",
			DataDir: "/opt/wine-stable/share/wine",
		}, []string{"/opt/wine-stable/bin", "/opt/wine-stable/lib/wine", "/opt/wine-stable/share/wine"}},
	} {
		if diff := cmp.Diff(tt.want, tt.install.Elsewhere()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestBuildKeysText(t *testing.T) {
	b, err := winver.Lookup("ltsc2022")
	if err != nil {
		t.Fatal(err)
	}
	got, err := EditRegistry("WINE REGISTRY Version 2\n", buildKeys(b))
	if err != nil {
		t.Fatal(err)
	}

	want := `WINE REGISTRY Version 2

[Software\\Microsoft\\Windows NT\\CurrentVersion] 0
"CurrentVersion"="10.0"
"CurrentBuild"="20348"
"CurrentBuildNumber"="20348"
"CurrentMajorVersionNumber"=dword:0000000a
"CurrentMinorVersionNumber"=dword:00000000
"UBR"=dword:00000aca
"ProductName"="Windows Server 2022 Datacenter"
"EditionID"="ServerDatacenter"
"InstallationType"="Server Core"
"ReleaseId"="2009"
"BuildBranch"="fe_release"
"BuildLab"="20348.fe_release"
"BuildLabEx"="20348.2762.amd64fre.fe_release"
"CurrentType"="Multiprocessor Free"
"DisplayVersion"="21H2"

[System\\CurrentControlSet\\Control\\TimeZoneInformation] 0
"TimeZoneKeyName"="UTC"
"StandardName"="Coordinated Universal Time"
"DaylightName"="Coordinated Universal Time"
"Bias"=dword:00000000
"StandardBias"=dword:00000000
"DaylightBias"=dword:00000000
"ActiveTimeBias"=dword:00000000
"MullionKeyName"="UTC"
"MullionStandardName"="Coordinated Universal Time"

[System\\CurrentControlSet\\Control\\Windows] 0
"CSDVersion"=dword:00000000
"CSDBuildNumber"=dword:00000aca
`

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplaceUser(t *testing.T) {
	in := `"A"="C:\\users\\root\\Music"` + "\n" + `"B"="C:\\users\\root"` + "\n" + `"C"="C:\\users\\rooted\\x"` + "\n" + `"D"="C:\\users\\Public\\x"`
	want := `"A"="C:\\users\\ContainerAdministrator\\Music"` + "\n" + `"B"="C:\\users\\ContainerAdministrator"` + "\n" +
		`"C"="C:\\users\\rooted\\x"` + "\n" + `"D"="C:\\users\\Public\\x"`
	if diff := cmp.Diff(want, replaceUser(in, "root", AdminUser)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServiceKeys(t *testing.T) {
	hive := "WINE REGISTRY Version 2\n"
	for _, name := range []string{"winebus", "nsiproxy", "MountMgr", `winebus\\Parameters`} {
		hive += "\n[System\\\\CurrentControlSet\\\\Services\\\\" + name + "] 0\n\"Start\"=dword:00000002\n"
	}

	hive += "\n[System\\\\CurrentControlSet\\\\Services\\\\Tcpip] 0\n\n[System\\\\Other] 0\n\"Start\"=dword:00000002\n"
	keys, err := ServiceKeys(hive)
	if err != nil {
		t.Fatal(err)
	}

	got, err := EditRegistry(hive, keys)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(hive, "winebus] 0\n\"Start\"=dword:00000002", "winebus] 0\n\"Start\"=dword:00000004", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
