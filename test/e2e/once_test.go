//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mullion.dev/mullion/internal/base/testrun"
)

// said is what a script runs as, and keeps what it says.
type said struct {
	testscript.T
	lines  []string
	failed bool
}

// stopped is what ends a script that has failed.
type stopped struct{}

func (s *said) Log(args ...any)                      { s.lines = append(s.lines, fmt.Sprintln(args...)) }
func (s *said) Fatal(args ...any)                    { s.Log(args...); s.FailNow() }
func (s *said) FailNow()                             { s.failed = true; panic(stopped{}) }
func (s *said) Skip(args ...any)                     { s.Fatal(args...) }
func (s *said) Parallel()                            {}
func (s *said) Verbose() bool                        { return true }
func (s *said) Run(_ string, f func(t testscript.T)) { f(s) }

// TestScriptOnce: a script that fails after it has said "once" says so in the words by which the program that runs the
// rungs knows it, one that fails before does not; and scripts of loss say it.
func TestScriptOnce(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		marked       bool
	}{
		{"after", "# A thing.\nonce loss\nexec false\n", true},
		{"before", "# A thing.\nexec false\n\n# Another.\nonce loss\n", false},
		{"unknown", "once luck\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "script.txtar")
			if err := os.WriteFile(file, []byte(tt.script), 0o600); err != nil {
				t.Fatal(err)
			}

			var s said
			func() {
				defer func() {
					if r := recover(); r != nil && r != (stopped{}) {
						panic(r)
					}
				}()
				testscript.RunT(&s, testscript.Params{Files: []string{file}, Cmds: commands()})
			}()

			text := strings.Join(s.lines, "")
			if marked := strings.Contains(text, testrun.OnceMark+testrun.Loss+"\n"); !s.failed || marked != tt.marked {
				t.Errorf("failed: %t, marked: %t, want %t:\n%s", s.failed, marked, tt.marked, text)
			}
		})
	}

	text, err := os.ReadFile("testdata/field.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if before, after, _ := strings.Cut(string(text), "\nonce loss\n"); strings.Contains(before, "'failed 0") ||
		!strings.Contains(after, "'failed 0") {
		t.Error("what the script field says of loss is not marked as such")
	}
}
