package wineapi_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/wineapi"
)

// TestFunction compares the list with facts of Wine's .spec files
// (https://gitlab.winehq.org/wine/wine/-/tree/wine-8.0/dlls) and of its API sets.
func TestFunction(t *testing.T) {
	api, err := wineapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"8.0", "10.0"}, api.Versions()); diff != "" {
		t.Fatal(diff)
	}

	for _, tc := range []struct {
		library, name string
		ordinal       uint16
		want          [2]wineapi.State // in 8.0 and 10.0
	}{
		{"kernel32.dll", "CreateFileW", 0, [2]wineapi.State{wineapi.There, wineapi.There}},
		{"KERNEL32.DLL", "CreateFileW", 0, [2]wineapi.State{wineapi.There, wineapi.There}},
		{"kernel32", "createfilew", 0, [2]wineapi.State{wineapi.NoFunction, wineapi.NoFunction}},
		{"user32.dll", "GetInputDesktop", 0, [2]wineapi.State{wineapi.Stub, wineapi.Stub}},
		{"bcrypt.dll", "BCryptKeyDerivation", 0, [2]wineapi.State{wineapi.NoFunction, wineapi.NoFunction}},
		{"ws2_32.dll", "", 115, [2]wineapi.State{wineapi.There, wineapi.There}}, // WSAStartup
		{"ws2_32.dll", "", 499, [2]wineapi.State{wineapi.NoFunction, wineapi.NoFunction}},
		{"api-ms-win-core-file-l1-2-4.dll", "CreateFileW", 0, [2]wineapi.State{wineapi.There, wineapi.There}},
		{"api-ms-win-core-com-l2-1-1.dll", "CreateBindCtx", 0, [2]wineapi.State{wineapi.NoLibrary, wineapi.NoFunction}},
		{"nosuch.dll", "X", 0, [2]wineapi.State{wineapi.NoLibrary, wineapi.NoLibrary}},
		{"winspool.drv", "OpenPrinterW", 0, [2]wineapi.State{wineapi.There, wineapi.There}},
	} {
		for v, version := range api.Versions() {
			got := api.Function(version, tc.library, pefile.Function{Name: tc.name, Ordinal: tc.ordinal})
			if got != tc.want[v] {
				t.Errorf("%s %s#%d in Wine %s: %d, want %d", tc.library, tc.name, tc.ordinal, version, got, tc.want[v])
			}
		}
	}
}

func TestExporters(t *testing.T) {
	api, err := wineapi.Load()
	if err != nil {
		t.Fatal(err)
	}

	for function, want := range map[string]string{
		"GetPointerDevices": "user32.dll", "CreateFileW": "kernel32.dll", "NtQuerySystemInformation": "ntdll.dll",
		"BCryptHash": "bcrypt.dll",
	} {
		if got := api.Exporters(function); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %v, want %s first", function, got, want)
		}
	}

	if got := api.Exporters("import_dll"); got != nil {
		t.Errorf("import_dll: %v", got)
	}
}

// TestListIsThatOfTheMachine reads the Wine of this machine anew and compares it with the list.
func TestListIsThatOfTheMachine(t *testing.T) {
	const folder = "/usr/lib/x86_64-linux-gnu/wine/x86_64-windows"
	text, err := os.ReadFile(filepath.Join(folder, "../x86_64-unix/ntdll.so"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("Wine is not installed")
	}
	api, err := wineapi.Load()
	if err != nil {
		t.Fatal(err)
	}

	version := ""
	for _, v := range api.Versions() {
		if bytes.Contains(text, []byte("wine-"+v+" (Debian ")) { // wine_get_build_id
			version = v
		}
	}
	if version == "" {
		t.Skipf("Wine here is none of %v", api.Versions())
	}

	wine, err := wineapi.ReadFolder(version, folder)
	if err != nil {
		t.Fatal(err)
	}

	checked, stubs := 0, 0
	for name, l := range wine.Libraries {
		if _, ok, _ := api.Library(version, name); !ok {
			t.Errorf("the list has no %s", name)
		}

		for f, want := range l.Functions {
			checked++
			if want == wineapi.Stub {
				stubs++
			}
			if got := api.Function(version, name, pefile.Function{Name: f}); got != want {
				t.Errorf("%s %s is %d in the list, %d in Wine %s", name, f, got, want, version)
			}
		}

		for n, want := range l.Ordinals {
			if n > 0xffff {
				continue
			}
			if got := api.Function(version, name, pefile.Function{Ordinal: uint16(n)}); got != want {
				t.Errorf("%s #%d is %d in the list, %d in Wine %s", name, n, got, want, version)
			}
		}
	}

	if checked < 50_000 || stubs < 5_000 {
		t.Errorf("only %d functions, %d stubs were compared", checked, stubs)
	}
}

// TestWrite writes a small list of two Wines that differ in everything.
func TestWrite(t *testing.T) {
	var b bytes.Buffer

	err := wineapi.Write(&b, []*wineapi.Wine{
		{
			Version: "1.0",
			Sets:    map[string]string{"api-a-l1-1": "a.dll"},
			Libraries: map[string]wineapi.Library{"a.dll": {
				Functions: map[string]wineapi.State{"F": wineapi.There, "G": wineapi.Stub},
				Ordinals: map[uint32]wineapi.State{
					1: wineapi.There, 2: wineapi.Stub, 3: wineapi.There, 9: wineapi.There,
				},
			}},
		},
		{
			Version: "2.0",
			Sets:    map[string]string{"api-b-l1-1": ""},
			Libraries: map[string]wineapi.Library{
				"a.dll": {Functions: map[string]wineapi.State{"G": wineapi.There}},
				"b.dll": {},
			},
		},
	})

	want := "wine 1.0 2.0\n!api-a-l1-1 a.dll -\n!api-b-l1-1 - .\n" +
		"@a.dll 11\n#1-3,9 -\n~2 -\n31F\n23G\n@b.dll 01\n#- -\n~- -\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, b.String()))
	}
}
