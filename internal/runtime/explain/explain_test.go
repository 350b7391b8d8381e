package explain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/explain"
)

func TestReadAndGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "explain")
	text := "2 fixme:win:GetPointerDevices (# #): partial stub\n" +
		"1 fixme:win:GetPointerDevices (#, #): partial stub\n" +
		"7 fixme:ntdll:NtQuerySystemInformation info_class SYSTEM_PERFORMANCE_INFORMATION\n" +
		"1 err:module:import_dll Library x.dll (which is needed by L\"a.exe\") not found\n" +
		"1 wine: Call from # to unimplemented function user32.dll.EndTask, aborting\n" +
		"4 fixme:file:SetThing\n9\n"

	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	met, more, err := explain.Read(file)
	if err != nil || more != 9 || len(met) != 6 {
		t.Fatalf("%d lines, %d more, %v", len(met), more, err)
	}

	libraries := func(function string) []string {
		return map[string][]string{"GetPointerDevices": {"user32.dll"}, "NtQuerySystemInformation": {"ntdll.dll"}}[function]
	}
	var got []string
	for _, f := range explain.Findings(met, libraries) {
		got = append(got, f.Class+" "+f.String())
	}

	want := []string{
		"end user32.dll EndTask: not implemented, and the program ended for it (met once)",
		`err Wine's module import_dll: Library x.dll (which is needed by L"a.exe") not found (met once)`,
		"fixme ntdll.dll NtQuerySystemInformation: info_class SYSTEM_PERFORMANCE_INFORMATION (met 7 times)",
		"fixme Wine's file SetThing: not implemented (met 4 times)",
		"fixme user32.dll GetPointerDevices: partly implemented (met 3 times)",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestReadHostile reads what a container may put in place of the file.
func TestReadHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir := t.TempDir()
	file := filepath.Join(dir, "explain")
	if _, _, err := explain.Read(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}

	if _, _, err := explain.Read(file); err == nil {
		t.Error("a FIFO was read")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}

	if _, _, err := explain.Read(link); err == nil {
		t.Error("a link was followed")
	}

	for _, text := range []string{"x y\n", "-1 y\n", strings.Repeat("a", 3<<20)} {
		other := filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := explain.Read(other); err == nil {
			t.Errorf("%.10q was read", text)
		}
	}

	for _, line := range []string{"", ":", "fixme", "fixme:", "fixme:a", "fixme:a:", "wine:", "fixme:a:b ((", "fixme:a:b )"} {
		explain.Findings([]explain.Met{{Count: 1, Text: line}}, func(string) []string { return nil })
	}
}
