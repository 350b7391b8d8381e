package wine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefuseEmpty(t *testing.T) {
	lib, system32 := t.TempDir(), t.TempDir()
	windows := filepath.Join(lib, "x86_64-windows")
	shim := filepath.Join(t.TempDir(), refusal)
	files := map[string]string{
		filepath.Join(windows, "arp.exe"):   "MZ stub:\x00 nothing else",
		filepath.Join(windows, "cacls.exe"): "MZ a newer Wine's real program",
		filepath.Join(windows, "dism.exe"):  "MZ stub: but " + string(make([]byte, 300<<10)),
		shim:                                "MZ refusal",
	}

	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got, err := Options{Install: Install{LibDir: lib}}.refuseEmpty(shim, system32)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"arp.exe"}, got); diff != "" {
		t.Error(diff)
	}

	entries, err := os.ReadDir(system32)
	if err != nil || len(entries) != 1 || entries[0].Name() != "arp.exe" {
		t.Errorf("system32 holds %v, %v", entries, err)
	}
}

func TestInstallTools(t *testing.T) {
	lib, files := t.TempDir(), t.TempDir()
	system32 := filepath.Join(files, "windows/system32")
	shim := filepath.Join(t.TempDir(), tools)
	for path, text := range map[string]string{
		filepath.Join(lib, "x86_64-windows/where.exe"):    "MZ stub:\x00 nothing else",
		filepath.Join(lib, "x86_64-windows/findstr.exe"):  "MZ a newer Wine's real program",
		filepath.Join(lib, "x86_64-windows/net.exe"):      "MZ Wine's net",
		filepath.Join(lib, "x86_64-windows/ipconfig.exe"): "MZ Wine's ipconfig",
		filepath.Join(lib, "x86_64-windows/wmic.exe"):     "MZ Wine's wmic",
		filepath.Join(lib, "x86_64-windows/schtasks.exe"): "MZ Wine's schtasks",
		filepath.Join(system32, "where.exe"):              "MZ Wine's where",
		filepath.Join(system32, "net.exe"):                "MZ Wine's net",
		shim:                                              "MZ tools",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	got, err := Options{Install: Install{LibDir: lib}}.installTools(shim, system32)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ipconfig.exe", "net.exe", "schtasks.exe", "where.exe", "wmic.exe"}, got); diff != "" {
		t.Error(diff)
	}

	for name, want := range map[string]string{
		"net.exe": "MZ tools", "where.exe": "MZ tools", "timeout.exe": "MZ tools", "net1.exe": "MZ Wine's net",
		"findstr.exe": "", "ipconfig.exe": "MZ tools", "nslookup.exe": "MZ tools",
		"wbem/wmic.exe": "MZ tools", "wbem/wmic1.exe": "MZ Wine's wmic", "wmic.exe": "",
		"sc.exe": "MZ tools", "schtasks.exe": "MZ tools", "../../ServiceMonitor.exe": "MZ tools",
	} {
		text, err := os.ReadFile(filepath.Join(system32, name))
		if (err != nil) != (want == "") || string(text) != want {
			t.Errorf("%s: %q, %v, want %q", name, text, err, want)
		}
	}
}
