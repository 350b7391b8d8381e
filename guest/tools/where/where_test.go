package where

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

type result = programtest.Result

// run runs where with variables; the first argument is its name.
func run(t *testing.T, variables map[string]string, args ...string) result {
	t.Helper()
	return programtest.Run("", func(e program.Env) int {
		e.Getenv = func(name string) string { return variables[name] }
		return Run(e, args[1:])
	})
}

func TestWhere(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	programtest.Write(t, dir, map[string]string{
		"here/tool.txt": "", "bin/Tool.EXE": "12345", "bin/other.cmd": "",
		"more/tool.exe": "", "more/deep/tool.exe": "",
	})
	t.Chdir(here)
	at := func(names ...string) string {
		var out strings.Builder
		for _, n := range names {
			out.WriteString(filepath.Join(dir, filepath.FromSlash(n)) + "\n")
		}
		return out.String()
	}

	path := strings.Join([]string{
		filepath.Join(dir, "bin"), filepath.Join(dir, "more"), filepath.Join(dir, "none"),
		filepath.Join(dir, "bin"),
	}, string(os.PathListSeparator))

	variables := map[string]string{"PATH": path, "DIRS": filepath.Join(dir, "more")}
	for _, tc := range []struct {
		name string
		args []string
		want result
	}{
		{"program", []string{"tool"}, result{Out: at("bin/Tool.EXE", "more/tool.exe")}},
		{"name", []string{"tool.txt"}, result{Out: at("here/tool.txt")}},
		{"stars", []string{"*.cmd"}, result{Out: at("bin/other.cmd")}},
		{"quoted", []string{"/f", "other"}, result{Out: `"` + strings.TrimSpace(at("bin/other.cmd")) + "\"\n"}},
		{
			"below",
			[]string{"/r", dir, "tool.exe"},
			result{Out: at("bin/Tool.EXE", "more/tool.exe", "more/deep/tool.exe")},
		},
		{"variable", []string{"$DIRS:tool"}, result{Out: at("more/tool.exe")}},
		{"quiet", []string{"/q", "tool"}, result{}},
		{"quiet_none", []string{"/q", "none"}, result{Code: 1}},
		{"none", []string{"none"}, result{Code: 1, Err: "INFO: Could not find files for the given pattern(s).\n"}},
		{"one_of_two", []string{"none", "other"}, result{Out: at("bin/other.cmd"), Err: "INFO: Could not find \"none\".\n"}},
		{
			"no_folder",
			[]string{"/r", "none", "x"},
			result{Code: 2, Err: "ERROR: The system cannot find the file specified.\n"},
		},
		{
			"unknown",
			[]string{"/z", "x"},
			result{Code: 2, Err: "ERROR: Invalid argument or option - '/z'.\nType \"WHERE /?\" for usage.\n"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, variables, append([]string{"where"}, tc.args...)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	if got := run(t, variables, "where", "/t", "tool.exe"); !strings.HasPrefix(got.Out, "        5   ") {
		t.Errorf("%+v", got)
	}
	if got := run(t, variables, "where"); got.Code != 2 || !strings.Contains(got.Out, "WHERE [/R dir]") {
		t.Errorf("%+v", got)
	}
}
