package arch_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture of the wings in CONTRIBUTING.md anew")

// The picture stands between these lines of CONTRIBUTING.md.
const (
	pictureBegins = "<!-- drawn by `go test ./internal/arch -run Picture -update` -->\n"
	pictureEnds   = "<!-- end of the picture -->\n"
)

// TestPicture holds that CONTRIBUTING.md draws the imports between the wings as they are.
func TestPicture(t *testing.T) {
	file := filepath.Join(root, "CONTRIBUTING.md")
	text := read(t, file)
	before, rest, begins := strings.Cut(text, pictureBegins)
	have, after, ends := strings.Cut(rest, pictureEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the picture: %q … %q", file, pictureBegins, pictureEnds)
	}

	want := draw(wingImports(t))
	if *update {
		if err := os.WriteFile(file, []byte(before+pictureBegins+want+pictureEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if have != want {
		t.Errorf("%s draws the wings so:\n%sthe imports are so (-update draws them):\n%s", file, have, want)
	}
}

// wingImports returns the wings and guest/, each with the wings that its packages import.
func wingImports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	const module = "mullion.dev/mullion/"
	wingOf := func(importPath string) (wing string, ours bool) {
		path, ours := strings.CutPrefix(importPath, module)
		wing, _, _ = strings.Cut(strings.TrimPrefix(path, "internal/"), "/")
		return wing, ours
	}

	imports := map[string]map[string]bool{}
	for _, p := range listed(t, "windows", "./guest/...", "./internal/...") {
		wing, _ := wingOf(p.ImportPath)
		if imports[wing] == nil {
			imports[wing] = map[string]bool{}
		}
		for _, i := range p.Imports {
			if other, ours := wingOf(i); ours && other != wing {
				imports[wing][other] = true
			}
		}
	}

	delete(imports, "arch")
	return imports
}

// draw returns a graph of the imports. An import that a longer way has too is left out.
func draw(imports map[string]map[string]bool) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, wing := range slices.Sorted(maps.Keys(imports)) {
		for _, to := range slices.Sorted(maps.Keys(imports[wing])) {
			if !longer(imports, wing, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", wing, to)
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// longer reports whether from reaches to by way of another wing.
func longer(imports map[string]map[string]bool, from, to string) bool {
	for by := range imports[from] {
		if by != to && reaches(imports, by, to) {
			return true
		}
	}
	return false
}

// reaches reports whether from imports to, directly or by way of others. There is no circle, which TestWings holds.
func reaches(imports map[string]map[string]bool, from, to string) bool {
	for next := range imports[from] {
		if next == to || reaches(imports, next, to) {
			return true
		}
	}
	return false
}
