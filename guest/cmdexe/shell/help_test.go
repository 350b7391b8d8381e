package shell

import (
	"strings"
	"testing"

	"mullion.dev/mullion/guest/cmdexe/synopsis"
)

// TestHelp checks that each builtin says what it does, and that nothing else is said to be one.
func TestHelp(t *testing.T) {
	for name := range builtins() {
		if c, known := synopsis.Find(name); !known || c.Syntax == "" || c.Summary == "" {
			t.Errorf("%s has no help: %+v", name, c)
		}
	}
	for _, c := range synopsis.Commands() {
		name := c.Name
		_, is := builtins()[strings.ToLower(name)]
		if language := name == "FOR" || name == "IF"; c.Syntax != "" && !is && !language {
			t.Errorf("%s is said to be a builtin", name)
		}
	}
}
