package cli

import (
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/cli/exit"
)

// TestDataFolderOfTheFlag holds that the flag comes before the environment.
func TestDataFolderOfTheFlag(t *testing.T) {
	m := newMachine(t)
	m.Describe(nil)
	m.Run("--data-dir", filepath.Join(m.Paths.Data, "other"), "status").Refused(t, exit.NotFound,
		`no cluster in "DATA/other"`, "bring one up with `mullion up`, or name its folder with --data-dir")
}
