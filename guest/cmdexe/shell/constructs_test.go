package shell_test

import (
	"testing"

	"mullion.dev/mullion/guest/cmdexe/constructs"
)

// TestConstructs runs each construct of the table.
func TestConstructs(t *testing.T) {
	for _, c := range constructs.All() {
		t.Run(c.Name, func(t *testing.T) {
			want := result{c.Out, c.Err, c.Code}
			if c.Line != "" {
				check(t, newMachine(t).cmd("cmd /c "+c.Line, c.Input), want)
				return
			}
			check(t, newMachine(t).batch("t.cmd", c.Script, c.Args, c.Input), want)
		})
	}
}
