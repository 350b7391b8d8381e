package tools

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
	"mullion.dev/mullion/internal/windows/wire/ourprograms"
)

// Linux knows the programs by name, and puts each into system32.
func TestPrograms(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(programs())), ourprograms.Names()); diff != "" {
		t.Errorf("package ourprograms has other names (-programs +names):\n%s", diff)
	}
}

// TestNames runs programs by the names of their files.
func TestNames(t *testing.T) {
	sorted := programtest.Run("b\r\na\r\n", func(e program.Env) int { return Run(e, `C:\Windows\System32\SORT.EXE`, []string{"/r"}) })
	if want := (programtest.Result{Out: "b\na\n"}); sorted != want {
		t.Errorf("%+v, want %+v", sorted, want)
	}
	unknown := programtest.Run("", func(e program.Env) int { return Run(e, "calc", nil) })
	if unknown.Code != exitUnknown || !strings.Contains(unknown.Err, "findstr") {
		t.Errorf("%+v", unknown)
	}
}
