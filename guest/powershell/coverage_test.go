package powershell

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// TestEachPartHasAScript checks that the scripts in testdata use each cmdlet, alias, operator and method.
func TestEachPartHasAScript(t *testing.T) {
	var all strings.Builder
	for _, folder := range []string{"run", "listener"} {
		for _, script := range scripts(t, folder) {
			all.WriteString(" " + strings.ToLower(script) + " ")
		}
	}

	text := all.String()
	word := func(name string) bool {
		return regexp.MustCompile(`(^|[^a-z0-9-])` + regexp.QuoteMeta(name) + `([^a-z0-9-]|$)`).MatchString(text)
	}

	for _, c := range Cmdlets() {
		for _, name := range append([]string{strings.ToLower(c.Name)}, c.Aliases...) {
			if !word(name) {
				t.Errorf("no script in testdata/run uses %s", name)
			}
		}

		for _, p := range slices.Concat(c.Values, c.Flags) {
			known := []string{cmdlet.LiteralName, cmdlet.ObjectName, "force"}
			if !strings.Contains(text, " -"+p) && !slices.Contains(append(known, c.Positions...), p) {
				t.Errorf("no script in testdata/run uses -%s of %s", p, c.Name)
			}
		}
	}

	for _, op := range append(slices.Concat(lang.Levels()...), "-not", "!", "-bnot", "2>&1", "2>$null", ">>", "1>") {
		if !strings.Contains(text, op) {
			t.Errorf("no script in testdata/run uses %s", op)
		}
	}

	for _, c := range append(dotnet.Classes(), object.EveryClass()) {
		for _, m := range c.Methods {
			if !strings.Contains(text, "."+strings.ToLower(m.Name)+"(") {
				t.Errorf("no script in testdata uses .%s() of %s", m.Name, c.Name)
			}
		}

		for _, p := range c.Props {
			if !regexp.MustCompile(`\.` + strings.ToLower(p.Name) + `\b`).MatchString(text) {
				t.Errorf("no script in testdata uses .%s of %s", p.Name, c.Name)
			}
		}

		for _, f := range c.Fields {
			if !strings.Contains(text, "]::"+strings.ToLower(f.Name)) {
				t.Errorf("no script in testdata uses [%s]::%s", c.Name, f.Name)
			}
		}

		for _, m := range c.Calls {
			if !strings.Contains(text, "]::"+strings.ToLower(m.Name)+"(") {
				t.Errorf("no script in testdata uses [%s]::%s()", c.Name, m.Name)
			}
		}
	}
}

// TestEachRefusalHasAScript finds every message with which a script is refused or ended in the package's source, and
// checks that a script in testdata produces it.
func TestEachRefusalHasAScript(t *testing.T) {
	var given strings.Builder
	for _, folder := range []string{"refused", "ended", "late", "run", "listener"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.out"))
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			given.Write(data)
		}
	}

	messages := refusals(t)
	if len(messages) < 50 {
		t.Fatalf("only %d messages are found: %q", len(messages), messages)
	}

	for _, m := range messages {
		form := regexp.MustCompile(`%(\[\d\])?[a-z]`).ReplaceAllString(regexp.QuoteMeta(m), `[\s\S]*`)
		if !regexp.MustCompile("(?i)" + form).MatchString(given.String()) {
			t.Errorf("no script in testdata gives %q", m)
		}
	}
}

// refusals returns the formats of the messages in the sources of the packages.
func refusals(t *testing.T) []string {
	t.Helper()
	var files, found []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		file, err := goparser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}

			name := ""
			switch fn := call.Fun.(type) {
			case *ast.Ident:
				name = fn.Name
			case *ast.SelectorExpr:
				name = fn.Sel.Name
			}

			name = strings.ToLower(name)
			words := map[string]int{"refuse": 1, "refuseat": 2, "misfit": 1}[name]
			if len(call.Args) <= words {
				return true
			}
			l, ok := call.Args[words].(*ast.BasicLit)
			if !ok || (words == 0 && name != "thrown" && (name != "errorf" || filepath.Base(f) != "verify.go")) {
				return true
			}

			if text, err := strconv.Unquote(l.Value); err == nil && len(strings.Trim(text, "%svdq. ")) > 3 {
				found = append(found, text)
			}
			return true
		})
	}

	return found
}
