package main

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryTestIsChosen holds that each test of the repository is one of a rung. Those that are compiled for Windows
// are run by tests of the rung wine.
func TestEveryTestIsChosen(t *testing.T) {
	field := regexp.MustCompile(fieldTests)
	files := 0
	err := testFiles("../..", func(path string, text []byte) {
		files++
		tree, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			chosen := func(rung string) bool { return chooses(rung, text, field, f.Name.Name) }
			if !slices.ContainsFunc(rungs(), chosen) {
				t.Errorf("%s: %s is a test of no rung", path, f.Name.Name)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if files < 500 {
		t.Errorf("%d files of tests were looked at", files)
	}
}

// chooses reports whether a rung runs a test.
func chooses(rung string, text []byte, field *regexp.Regexp, test string) bool {
	if !built(text, tagsOf(rung)) {
		return false
	}
	switch rung {
	case "pure":
		return true
	case "field":
		tagged := func(tag string) bool { return hasTag(text, tag) }
		return field.MatchString(test) && slices.ContainsFunc(tagsOf(rung), tagged)
	}
	return hasTag(text, rung) && !field.MatchString(test)
}

// built reports whether a file is compiled with these tags, for Linux or for Windows.
func built(text []byte, tags []string) bool {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if !constraint.IsGoBuild(line) {
			continue
		}

		expr, err := constraint.Parse(strings.TrimSpace(line))
		if err != nil {
			return false
		}
		return slices.ContainsFunc([]string{"linux", "windows"}, func(system string) bool {
			return expr.Eval(func(tag string) bool {
				return tag == system || tag == "amd64" || slices.Contains(tags, tag)
			})
		})
	}

	return true
}

// TestChooses holds that a test that nothing runs is found.
func TestChooses(t *testing.T) {
	field := regexp.MustCompile(fieldTests)
	for _, tc := range []struct {
		file, test, want string
	}{
		{"package p", "TestX", "pure"},
		{"package p", "TestFields", "pure"},
		{"//go:build kernel\n\npackage p", "TestX", "kernel"},
		{"//go:build wine && !race\n\npackage p", "TestFieldX", "field"},
		{"//go:build nothing\n\npackage p", "TestX", ""},
		{"//go:build machines\n\npackage p", "TestFieldX", ""},
	} {
		var by []string
		for _, rung := range rungs() {
			if chooses(rung, []byte(tc.file+"\n"), field, tc.test) {
				by = append(by, rung)
			}
		}

		if got := strings.Join(by, " "); got != tc.want {
			t.Errorf("%q of %q is run by %q, not %q", tc.test, tc.file, got, tc.want)
		}
	}
}

// TestFieldsPackages holds that rung field has only packages with such tests, whatever their tag is.
func TestFieldsPackages(t *testing.T) {
	t.Chdir("../..")
	got, err := packagesOf("field", nil)
	want := []string{"./internal/runtime/emptydirs", "./test/e2e", "./test/hnswine", "./test/run"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("packages %q, %v; want %q", got, err, want)
	}
}

// TestFieldByName: named tests run alone, from their own packages, and a name that nothing has is told.
func TestFieldByName(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("MULLION_FIELD", "HcnSuites, SweepMillion")
	names := namedTests("field")
	got, err := packagesOf("field", names)
	if want := []string{"./internal/runtime/emptydirs", "./test/hnswine"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("packages %q, %v; want %q", got, err, want)
	}

	chosen := regexp.MustCompile(strings.TrimPrefix(chosen("field", names), "-run="))
	for name, want := range map[string]bool{
		"TestFieldHcnSuites": true, "TestFieldSweepMillion": true,
		"TestFieldHcnSuitesMore": false, "TestFieldDocker": false, "TestHcnSuites": false,
	} {
		if chosen.MatchString(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}

	if _, err := packagesOf("field", []string{"Nowhere"}); err == nil || !strings.Contains(err.Error(), "TestFieldNowhere") {
		t.Errorf("of a name that no test has it says %v", err)
	}
	if other := namedTests("kernel"); other != nil {
		t.Errorf("rung kernel has the names %q", other)
	}
}

// TestOtherModules: go test of this module cannot run the tests of another below it.
func TestOtherModules(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"own/a_test.go":        "package own",
		"other/go.mod":         "module other",
		"other/deep/b_test.go": "package deep",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	var found []string
	if err := testFiles(dir, func(path string, _ []byte) { found = append(found, filepath.Base(path)) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, []string{"a_test.go"}) {
		t.Errorf("found %q", found)
	}
}
