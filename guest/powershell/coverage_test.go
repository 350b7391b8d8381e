package powershell

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEachPartHasAScript checks that the scripts in testdata use each cmdlet, alias, operator and method.
func TestEachPartHasAScript(t *testing.T) {
	var all strings.Builder
	for _, folder := range []string{"run", "listener"} {
		for _, script := range scripts(t, folder) {
			all.WriteString(" " + lower(script) + " ")
		}
	}
	text := all.String()
	word := func(name string) bool {
		return regexp.MustCompile(`(^|[^a-z0-9-])` + regexp.QuoteMeta(name) + `([^a-z0-9-]|$)`).MatchString(text)
	}
	for _, c := range cmdlets() {
		for _, name := range append([]string{lower(c.name)}, c.aliases...) {
			if !word(name) {
				t.Errorf("no script in testdata/run uses %s", name)
			}
		}
		for _, p := range slices.Concat(c.values, c.flags) {
			known := []string{literalName, objectName, "force"}
			if !strings.Contains(text, " -"+p) && !slices.Contains(append(known, c.positions...), p) {
				t.Errorf("no script in testdata/run uses -%s of %s", p, c.name)
			}
		}
	}
	for _, op := range append(slices.Concat(levels()...), "-not", "!", "-bnot", "2>&1", "2>$null", ">>", "1>") {
		if !strings.Contains(text, op) {
			t.Errorf("no script in testdata/run uses %s", op)
		}
	}
	for _, c := range append(classes(), everyClass()) {
		for _, m := range c.methods {
			if !strings.Contains(text, "."+lower(m.name)+"(") {
				t.Errorf("no script in testdata uses .%s() of %s", m.name, c.name)
			}
		}
		for _, p := range c.props {
			if !regexp.MustCompile(`\.` + lower(p.name) + `\b`).MatchString(text) {
				t.Errorf("no script in testdata uses .%s of %s", p.name, c.name)
			}
		}
		for _, f := range c.fields {
			if !strings.Contains(text, "]::"+lower(f.name)) {
				t.Errorf("no script in testdata uses [%s]::%s", c.name, f.name)
			}
		}
		for _, m := range c.calls {
			if !strings.Contains(text, "]::"+lower(m.name)+"(") {
				t.Errorf("no script in testdata uses [%s]::%s()", c.name, m.name)
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

// refusals are the formats of the messages in the source of the package.
func refusals(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
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
			words := map[string]int{"refuse": 1, "refuseAt": 2, "misfit": 1}[name]
			if len(call.Args) <= words {
				return true
			}
			l, ok := call.Args[words].(*ast.BasicLit)
			if !ok || (words == 0 && name != "thrown" && (name != "Errorf" || f != "verify.go")) {
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
