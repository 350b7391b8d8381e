package arch_test

import (
	"slices"
	"strings"
	"testing"
)

// cliShared are the packages of internal/cli that commands share, and for each those of them that it may import. The
// other packages have commands: they import what is shared, and none of each other. Package cli puts them together.
var cliShared = map[string]string{
	"bringup":    "exit invoke progress",
	"clitest":    "exit frame invoke reader",
	"cmdline":    "exit",
	"exit":       "",
	"frame":      "cmdline exit invoke screen",
	"hosts":      "exit invoke remedy",
	"invoke":     "exit remedy screen",
	"kubeconfig": "exit",
	"progress":   "cmdline exit invoke screen",
	"reader":     "exit invoke kubeconfig remedy",
	"remedy":     "exit",
	"screen":     "",
	"stores":     "exit invoke remedy",
}

// TestPartsOfTheCommandLine holds that no command of mullion knows another.
func TestPartsOfTheCommandLine(t *testing.T) {
	const folder = "mullion.dev/mullion/internal/cli/"
	seen := map[string]bool{}
	for _, p := range listed(t, "linux", "./internal/cli/...") {
		part, below := strings.CutPrefix(p.ImportPath, folder)
		if !below {
			continue // it puts the parts together
		}
		seen[part] = true

		allowed, shared := cliShared[part]
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, folder)
			_, toShared := cliShared[to]
			switch {
			case !ours:
			case shared && !slices.Contains(strings.Fields(allowed), to):
				t.Errorf("internal/cli/%s imports %s: it may import %q", part, to, allowed)
			case !shared && !toShared:
				t.Errorf("internal/cli/%s imports %s: no command knows another; what both need is handed to them, or is shared",
					part, to)
			}
		}
	}

	for part := range cliShared {
		if !seen[part] {
			t.Errorf("internal/cli/%s is no package: its row is stale", part)
		}
	}
}
