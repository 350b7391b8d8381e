package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/conformance/result"
)

// module writes a module of one package, whose test looks at smaller alone, and returns the package.
func module(t *testing.T) pkg {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // nobody runs the tests there
		t.Fatal(err)
	}

	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go": `package m

func smaller(a, b int) bool { return a < b }

func both(a, b bool) bool {
	if !a {
		return false
	}
	return a && b
}

func first(f func() error) error {
	if err := f(); err != nil {
		return err
	}
	return nil
}
`,
		"m_test.go": `package m

import "testing"

func TestSmaller(t *testing.T) {
	if !smaller(1, 2) || smaller(2, 2) {
		t.Error("1 is smaller than 2")
	}
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Chdir(dir)
	packages, err := list(t.Context(), []string{"./..."})
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}

	return packages[0]
}

func TestMutantsOf(t *testing.T) {
	found, err := mutantsOf(module(t), "m.go")
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, m := range found {
		got = append(got, m.String())
	}

	want := []string{
		"example.com/m m.go:3 smaller: < → >=",
		"example.com/m m.go:6 both: ! → ",
		"example.com/m m.go:7 both: false → true",
		"example.com/m m.go:9 both: && → ||",
		"example.com/m m.go:13 first: err → false && err",
		"example.com/m m.go:13 first: != → ==",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The same seed draws the same mutants, another one others; of a package there are no more than asked for.
func TestDraw(t *testing.T) {
	p := module(t)
	drawn := func(seed uint64, each int) (names []string) {
		mutants, err := draw([]pkg{p}, options{
			n:    6,
			each: each,
			seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range mutants {
			names = append(names, m.String())
		}

		return names
	}

	if a, b := drawn(1, 6), drawn(1, 6); !slices.Equal(a, b) || len(a) != 6 {
		t.Errorf("seed 1 draws %v and %v", a, b)
	}
	if slices.Equal(drawn(1, 6), drawn(2, 6)) {
		t.Error("two seeds draw the same")
	}
	if m := drawn(1, 2); len(m) != 2 {
		t.Errorf("%d mutants of a package, want 2", len(m))
	}
}

// A mutant of what a test looks at is noticed, another survives, one that does not compile is none, and nothing is
// written to the tree.
func TestMutantIsTested(t *testing.T) {
	p := module(t)
	mutants, err := mutantsOf(p, "m.go")
	if err != nil {
		t.Fatal(err)
	}
	broken := mutants[0]
	broken.instead = "+"

	var out strings.Builder
	ended, err := try(t.Context(), []mutant{mutants[0], mutants[3], broken}, time.Minute, &out)
	if err != nil || len(ended) != 2 {
		t.Fatal(ended, err, out.String())
	}
	if ended[0].State != result.Passed || ended[1].State != result.Failed {
		t.Errorf("ended as %s and %s, want the first noticed alone:\n%s", ended[0].State, ended[1].State, &out)
	}

	if text, err := os.ReadFile("m.go"); err != nil || !strings.Contains(string(text), "a < b") {
		t.Errorf("the tree was changed: %v", err)
	}

	moved := mutants[0]
	moved.from++
	if _, err := moved.changed(t.TempDir()); err == nil {
		t.Error("a file that has changed is changed")
	}
}

// Of a package whose tests fail anyway no mutant is tried; one whose tests hang is noticed.
func TestFailingAndHanging(t *testing.T) {
	p := module(t)
	mutants, err := mutantsOf(p, "m.go")
	if err != nil {
		t.Fatal(err)
	}

	write := func(body string) {
		text := "package m\n\nimport \"testing\"\n\nfunc TestSmaller(t *testing.T) {\n" + body + "\n}\n"
		if err := os.WriteFile("m_test.go", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write("\tt.Fail()")
	ended, err := try(t.Context(), mutants[:1], time.Minute, io.Discard)
	if err != nil || len(ended) != 0 {
		t.Errorf("of a package that fails: %v, %v", ended, err)
	}

	write("\tif !smaller(1, 2) {\n\t\tselect {}\n\t}")
	ended, err = try(t.Context(), mutants[:1], time.Second, io.Discard)
	if err != nil || len(ended) != 1 || ended[0].State != result.Passed {
		t.Errorf("of a mutant that hangs: %v, %v", ended, err)
	}
}
