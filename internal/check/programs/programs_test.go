package programs_test

import (
	"bytes"
	"debug/pe"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/programs"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/pefile/petest"
	"mullion.dev/mullion/internal/windows/winapi"
	"mullion.dev/mullion/internal/windows/wineapi"
)

// imports makes a table of imports of "LIBRARY FUNCTION…".
func imports(lines ...string) []pefile.Import {
	var out []pefile.Import
	for _, l := range lines {
		words := strings.Fields(l)
		one := pefile.Import{Library: words[0]}
		for _, w := range words[1:] {
			one.Functions = append(one.Functions, pefile.Function{Name: w})
		}
		out = append(out, one)
	}
	return out
}

// judged returns the findings for the files of an image as "severity rule: note".
func judged(t *testing.T, files map[string]petest.File, plain []string, versions ...string) []string {
	t.Helper()
	j, err := programs.NewJudge(rules.All(), versions)
	if err != nil {
		t.Fatal(err)
	}

	s := programs.NewSet(true)
	for name, f := range files {
		if err := s.Add(name, bytes.NewReader(f.Bytes())); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range plain {
		if err := s.Add(name, strings.NewReader("{}")); err != nil {
			t.Fatal(err)
		}
	}

	r := j.Set(s, check.Object{Kind: "Image", Name: "x"}, "x.tar")
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Severity)+" "+f.Rule.ID+": "+f.Note)
	}

	for _, f := range r.Faults {
		out = append(out, "fault: "+f.Message)
	}

	return out
}

func TestJudge(t *testing.T) {
	library := func(is []pefile.Import, exports ...string) petest.File {
		return petest.File{
			Library: true,
			Imports: is,
			Exports: exports,
		}
	}

	for _, tc := range []struct {
		name     string
		files    map[string]petest.File
		plain    []string
		versions []string
		want     []string
	}{
		{
			name:  "nothing missing",
			files: map[string]petest.File{"app/a.exe": {Imports: imports("KERNEL32.dll ExitProcess", "api-ms-win-core-file-l1-2-4.dll CreateFileW")}},
		},
		{
			name:  "a missing library",
			files: map[string]petest.File{"app/a.exe": {Imports: imports("nosuch.dll F")}},
			want:  []string{`error program-missing-library: C:\app\a.exe wants nosuch.dll`},
		},
		{
			name:  "a missing library that is loaded later",
			files: map[string]petest.File{"app/a.exe": {Delayed: imports("nosuch.dll F")}},
			want:  []string{`warning program-missing-library: C:\app\a.exe wants nosuch.dll, which is loaded when it first calls it`},
		},
		{
			name:  "missing functions, and a stub",
			files: map[string]petest.File{"app/a.exe": {Imports: imports("user32.dll NoSuch GetInputDesktop Another")}},
			want: []string{
				`warning program-missing-function: C:\app\a.exe wants NoSuch, Another of user32.dll`,
				`warning program-stub-function: C:\app\a.exe wants GetInputDesktop of user32.dll`,
			},
		},
		{
			name:  "a function with a row",
			files: map[string]petest.File{"app/a.exe": {Imports: imports("IPHLPAPI.DLL CreateIpForwardEntry2")}},
			want: []string{
				`warning program-missing-function: C:\app\a.exe wants CreateIpForwardEntry2 of IPHLPAPI.DLL; docs/compat, ` +
					`CreateIpForwardEntry2: Wine's iphlpapi.dll does not export it; CreateIpForwardEntry is there`,
			},
		},
		{
			name: "Mullion's libraries take the place of Wine's",
			files: map[string]petest.File{"app/a.exe": {
				Imports: imports("vmcompute.dll HcsEnumerateComputeSystems", "pdh.dll PdhOpenQueryW PdhNoSuch"),
			}},
			want: []string{`warning program-missing-function: C:\app\a.exe wants PdhNoSuch of pdh.dll`},
		},
		{
			name:  "one Wine has it, the other has not",
			files: map[string]petest.File{"app/a.exe": {Imports: imports("coml2.dll")}},
			want:  []string{`error program-missing-library: C:\app\a.exe wants coml2.dll (with Wine 8.0)`},
		},
		{
			name:     "only the newer Wine is asked about",
			files:    map[string]petest.File{"app/a.exe": {Imports: imports("coml2.dll")}},
			versions: []string{"10.0"},
		},
		{
			name: "libraries of the image, and what they want",
			files: map[string]petest.File{
				"app/a.exe":          {Imports: imports("One.dll F G")},
				"app/one.DLL":        library(imports("two.dll", "nosuch.dll"), "F"),
				"elsewhere/two.dll":  library(imports("kernel32.dll NoSuch")),
				"elsewhere/idle.dll": library(imports("absent.dll")),
			},
			want: []string{
				`warning program-missing-function: C:\app\a.exe wants G of One.dll`,
				`error program-missing-library: C:\app\one.DLL wants nosuch.dll; C:\app\a.exe loads it at its start`,
				`warning program-missing-library: C:\elsewhere\idle.dll wants absent.dll; ` +
					`no program here loads it at its start, so only who loads it is concerned`,
				`warning program-missing-function: C:\elsewhere\two.dll wants NoSuch of kernel32.dll; C:\app\a.exe loads it at its start`,
			},
		},
		{
			name: "Windows' own libraries in an image give way, redistributables do not",
			files: map[string]petest.File{
				"Windows/System32/user32.dll":   library(nil, "NoSuch"),
				"Windows/System32/msvcp140.dll": library(nil, "NoSuch"),
				"app/a.exe":                     {Imports: imports("user32.dll NoSuch", "MSVCP140.dll NoSuch")},
			},
			want: []string{`warning program-missing-function: C:\app\a.exe wants NoSuch of user32.dll`},
		},
		{
			name: "other processors, drivers",
			files: map[string]petest.File{
				"a.exe": {Machine: pe.IMAGE_FILE_MACHINE_I386, Imports: imports("nosuch.dll F")},
				"b.exe": {Machine: pe.IMAGE_FILE_MACHINE_ARM64},
				"c.sys": {Subsystem: pe.IMAGE_SUBSYSTEM_NATIVE},
				"d.dll": {Machine: pe.IMAGE_FILE_MACHINE_I386, Library: true, Imports: imports("nosuch.dll")},
			},
			want: []string{
				`error program-32-bit: C:\a.exe`, `warning program-other-processor: C:\b.exe is for ARM64`,
				`warning program-driver: C:\c.sys`,
			},
		},
		{
			name: "a library for another processor is none",
			files: map[string]petest.File{
				"a.exe": {Imports: imports("own.dll F")}, "own.dll": {Machine: pe.IMAGE_FILE_MACHINE_I386, Library: true},
			},
			want: []string{`error program-missing-library: C:\a.exe wants own.dll`},
		},
		{
			name: ".NET Framework, and .NET",
			files: map[string]petest.File{
				"a.exe": {Machine: pe.IMAGE_FILE_MACHINE_I386, CLR: true, CLRFlags: 1, Imports: imports("mscoree.dll _CorExeMain")},
				"b.exe": {CLR: true, CLRFlags: 1}, "c.dll": {Library: true, CLR: true, CLRFlags: 1},
			},
			plain: []string{"b.runtimeconfig.json"},
			want:  []string{`error program-net-framework: C:\a.exe`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, judged(t, tc.files, tc.plain, tc.versions...)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMalformed: a malformed program is a fault, and what only looks like one is passed over.
func TestMalformed(t *testing.T) {
	j, err := programs.NewJudge(rules.All(), nil)
	if err != nil {
		t.Fatal(err)
	}

	s := programs.NewSet(true)
	whole := petest.File{Imports: imports("kernel32.dll ExitProcess")}.Bytes()
	for name, text := range map[string][]byte{
		"cut.exe": whole[:petest.Data+8], "readme.txt": []byte("MZ is how it begins"), "dos.com": append([]byte("MZ"), make([]byte, 100)...),
	} {
		if err := s.Add(name, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}

	r := j.Set(s, check.Object{}, "x")
	if len(r.Faults) != 1 || !strings.HasPrefix(r.Faults[0].Message, `C:\cut.exe is malformed: read the imports`) || len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestShimsHaveWhatTheyReplace: a library of Mullion's that takes the place of Wine's has all that is in Wine's.
func TestShimsHaveWhatTheyReplace(t *testing.T) {
	without := map[string]string{
		"PdhGetLogFileTypeA": "there are no log files", "PdhGetLogFileTypeW": "there are no log files",
		"PdhSetDefaultRealTimeDataSource": "there is one source", "PdhValidatePathExA": "of log files",
		"PdhVbAddCounter": "for Visual Basic", "PdhVbGetDoubleCounterValue": "for Visual Basic",
	}
	api, err := wineapi.Load()
	if err != nil {
		t.Fatal(err)
	}

	for library, names := range winapi.Exports() {
		for _, name := range api.Working(library) {
			if !slices.Contains(names, name) && without[name] == "" {
				t.Errorf("%s has no %s, Wine's has", library, name)
			}
		}
	}
}

// TestThisRepositorysShims: Mullion's own libraries and programs, if they are built, miss nothing.
func TestThisRepositorysShims(t *testing.T) {
	files, err := filepath.Glob("../../../bin/windows/shim/*")
	if err != nil || len(files) == 0 {
		t.Skip("the shims are not built: make build")
	}
	j, err := programs.NewJudge(rules.All(), nil)
	if err != nil {
		t.Fatal(err)
	}

	s := programs.NewSet(false)
	if err := s.ReadFolder(t.Context(), "../../../bin/windows/shim"); err != nil {
		t.Fatal(err)
	}
	for _, f := range j.Set(s, check.Object{}, "shim").Findings {
		t.Errorf("%s: %s", f.Severity, f.Message)
	}
}
