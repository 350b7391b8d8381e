package powershell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/constructs"
	"mullion.dev/mullion/internal/base/support"
)

// TestConstructs checks that each construct of the language has the script that shows it.
func TestConstructs(t *testing.T) {
	rows := constructs.Absent("language")
	for _, c := range constructs.All() {
		rows = append(rows, c.Row("language"))
		script, err := os.ReadFile(filepath.Join("testdata", c.Script+".ps1"))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if !strings.Contains(strings.ToLower(string(script)), c.Sign) {
			t.Errorf("%s: %s has no %q", c.Name, c.Script, c.Sign)
		}
	}

	if err := support.Check(rows); err != nil {
		t.Error(err)
	}
}
