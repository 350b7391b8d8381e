//go:build wine

package winrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/programs"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/runtime/explain"
	"mullion.dev/mullion/internal/windows/wineapi"
)

// testDebugLines has Wine's diagnostic lines of a program and of its child counted apart from what they write.
func testDebugLines(t *testing.T, p prefix) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "explain")
	initProgram := build(t, "../../cmd/mullion-init", "linux")
	cmd := p.command(t, "--debug-fd", "3", "--", "cmd", "/c", "prog", "call", "user32.dll!GetPointerDevices", "user32.dll!GetPointerDevices")
	cmd.Args = append([]string{initProgram, "--explain", file, "--", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = initProgram
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if code := exitCode(t, cmd.Run()); code != 0 {
		t.Errorf("exit code %d", code)
	}

	if want := strings.Repeat("calling user32.dll!GetPointerDevices\n", 2); newlines(out.String()) != want {
		t.Errorf("output %q", out.String())
	}
	if want := strings.Repeat("called user32.dll!GetPointerDevices\n", 2); newlines(errs.String()) != want {
		t.Errorf("standard error %q, Wine's lines do not belong there", errs.String())
	}

	met, _, err := explain.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	api, err := wineapi.Load()
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, f := range explain.Findings(met, api.Exporters) {
		got = append(got, f.String())
	}

	if want := "user32.dll GetPointerDevices: partly implemented (met 2 times)"; !strings.Contains(strings.Join(got, "\n"), want) {
		t.Errorf("findings %q, want %q; the lines: %+v", got, want, met)
	}
}

// testMissingImports changes what a program imports to what there is not. Wine does then what `mullion check programs`
// says.
func testMissingImports(t *testing.T, p prefix) {
	t.Helper()
	whole, err := os.ReadFile(build(t, "./prog", "windows"))
	if err != nil {
		t.Fatal(err)
	}
	judge, err := programs.NewJudge(rules.All(), nil)
	if err != nil {
		t.Fatal(err)
	}

	// ffprobe imports functions of bcrypt.dll from ncrypt.dll, which Windows' passes on.
	if got := p.run(t, "--", "prog", "call", "ncrypt.dll!BCryptGetFipsAlgorithmMode", "ncrypt.dll!BCryptGenRandom"); got.code != 0 {
		t.Errorf("functions of bcrypt.dll by ncrypt.dll: %+v", got)
	}

	for _, tc := range []struct {
		name, from, to string
		rule           string
		starts         bool
	}{
		{name: "as-it-is", starts: true},
		// Go calls it only when it ends by a fault.
		{"no-function", "\x00RaiseFailFastException\x00", "\x00RaiseFailFastExceptioX\x00", rules.ProgramMissingFunction, true},
		{"no-library", "\x00kernel32.dll\x00", "\x00kernel3X.dll\x00", rules.ProgramMissingLibrary, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := bytes.Replace(whole, []byte(tc.from), []byte(tc.to), 1)
			if tc.from != "" && bytes.Equal(text, whole) {
				t.Fatalf("the program does not import %q", tc.from)
			}
			s := programs.NewSet(true)
			if err := s.Add("changed.exe", bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}

			var want, got []string
			if tc.rule != "" {
				want = append(want, tc.rule)
			}
			for _, f := range judge.Set(s, check.Object{}, "x").Findings {
				got = append(got, f.Rule.ID)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			file := filepath.Join(t.TempDir(), "changed.exe")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}

			p.CopyIn(t, file, "changed.exe")
			run := p.run(t, "--", "changed", "env", "OS")
			if started := run.out == "OS=Windows_NT\n" && run.code == 0; started != tc.starts {
				t.Errorf("started: %v, want %v: %+v", started, tc.starts, run)
			}
		})
	}
}
