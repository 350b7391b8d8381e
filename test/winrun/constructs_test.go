//go:build wine

package winrun

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/cmdexe/constructs"
)

// ofTheTable matches what only the Windows of package shell's tests has: its programs, its second drive, its time.
var ofTheTable = regexp.MustCompile(`(?i)\b(prog|args|err|findx|env|where|cat|line|broken|sort|data|date|time|vol|ver|` +
	`assoc|path|title|cls|color|random|cmd|t\.cmd|tmp|bin|verify|cmdcmdline|start|pause)\b`)

// testConstructs runs a part of the table of batch constructs as this Windows has it: its files, pipes and shells. The
// table's own test runs all of them, without Wine.
func testConstructs(t *testing.T, p prefix) {
	t.Helper()
	ran := 0
	for i, c := range constructs.All() {
		if i%3 != 0 || ofTheTable.MatchString(c.Script+c.Line+c.Args) || strings.Contains(c.Out, "t.cmd") {
			continue
		}

		ran++
		t.Run(c.Name, func(t *testing.T) {
			if err := os.RemoveAll(p.Path("w")); err != nil {
				t.Fatal(err)
			}
			line := `C:\w\t.cmd ` + c.Args
			script := "@echo off\r\ncd /d C:\\w\r\n" + strings.ReplaceAll(c.Script, "\n", "\r\n")
			if c.Line != "" {
				line, script = `cd /d C:\w& `+c.Line, ""
			}
			p.Write(t, "w/t.cmd", script)

			cmd := p.command(t, "--raw", "--", "cmd /c "+line)
			var out, errs strings.Builder
			cmd.Stdin = strings.NewReader(c.Input)
			cmd.Stdout, cmd.Stderr = &out, &errs

			code := exitCode(t, cmd.Run())
			got, wrong := newlines(out.String()), newlines(errs.String())
			if got != c.Out || wrong != c.Err || code != int(c.Code)&0xFF {
				t.Errorf("out %q, err %q, code %d\nwant %q, err %q, code %d", got, wrong, code, c.Out, c.Err, c.Code)
			}
		})
	}

	if ran < 50 {
		t.Errorf("only %d constructs were run", ran)
	}
}
