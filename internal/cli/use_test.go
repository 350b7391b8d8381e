package cli

import (
	"path/filepath"
	"testing"
)

// TestDataFolderOfTheFlag holds that the flag comes before the environment.
func TestDataFolderOfTheFlag(t *testing.T) {
	m := newMachine(t)
	m.describe(nil)
	m.run("--data-dir", filepath.Join(m.paths.Data, "other"), "status").refused(t, ExitNotFound,
		`no cluster in "DATA/other"`, "bring one up with `mullion up`, or name its folder with --data-dir")
}
