package arch_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cliShared are the packages of internal/cli that commands share, and for each those of them that it may import. The
// other packages have commands: they import what is shared, and none of each other. Package cli puts them together.
var cliShared = map[string]string{
	"bringup":     "exit invoke progress",
	"clitest":     "exit frame invoke reader",
	"cmdline":     "exit",
	"dockerout":   "exit invoke",
	"engine":      "exit invoke",
	"exit":        "",
	"folderimage": "invoke",
	"frame":       "cmdline exit invoke screen",
	"hosts":       "exit invoke remedy",
	"invoke":      "exit remedy screen",
	"kubeconfig":  "exit",
	"progress":    "cmdline exit invoke screen",
	"reader":      "exit invoke kubeconfig remedy",
	"remedy":      "exit",
	"screen":      "",
	"stores":      "exit invoke remedy",
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

// mostMethods bounds the methods of a type of internal/cli, whose commands were methods of a single one.
const mostMethods = 25

// TestReceiversOfTheCommandLineAreSmall counts the methods of each type of internal/cli and of the packages below it.
func TestReceiversOfTheCommandLineAreSmall(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "internal/cli/*/"))
	if err != nil || len(folders) < 20 {
		t.Fatalf("found %q: %v", folders, err)
	}

	for _, folder := range append(folders, filepath.Join(root, "internal/cli")) {
		methods := map[string]int{}
		for _, file := range parseFolder(t, folder) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
					of := f.Recv.List[0].Type
					if star, ok := of.(*ast.StarExpr); ok {
						of = star.X
					}
					methods[nameOf(of)]++
				}
			}
		}

		for of, n := range methods {
			if n > mostMethods {
				t.Errorf("%s: %s has %d methods, at most %d: split it by what they are for", folder, of, n, mostMethods)
			}
		}
	}
}

// nameOf returns the name of a receiver's type.
func nameOf(of ast.Expr) string {
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
