package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayReadErrors are the packages in which an error's text may decide, and why.
var mayReadErrors = map[string]string{
	"internal/base/errtext": "what it is for",
	"guest/tools/curl":      "net/http and crypto/tls have no error values for what curl has a code for",
	"guest/tools/sc":        "a usage error without a text has been printed",
}

// TestNothingIsDecidedByAnErrorsText holds that what is done does not depend on a sentence, which somebody may mend.
func TestNothingIsDecidedByAnErrorsText(t *testing.T) {
	unused := maps.Clone(mayReadErrors)
	for _, path := range decidingFiles(t) {
		found := textDecisions(t, path, read(t, path))
		for place := range mayReadErrors {
			if strings.HasPrefix(path, root+"/"+place+"/") {
				if len(found) > 0 {
					delete(unused, place)
				}
				found = nil
			}
		}

		for _, f := range found {
			t.Errorf("%s: an error's text decides: use errors.Is or As; where the cause is lost, package errtext", f)
		}
	}

	for place := range unused {
		t.Errorf("%s reads no error's text any more", place)
	}
}

// TestUnitsAreNotCut holds that a unit of a cluster is a component.ID, whose text is neither cut nor put together.
func TestUnitsAreNotCut(t *testing.T) {
	looked := 0
	for _, path := range decidingFiles(t) {
		text := read(t, path)
		if !strings.Contains(text, `/internal/process/component"`) {
			continue
		}
		looked++
		for _, f := range cutUnits(t, path, text) {
			t.Errorf("%s: a unit's name is cut or put together: use component.ID", f)
		}
	}

	if looked < 30 {
		t.Errorf("only %d files know units", looked)
	}
}

// TestDecisionsAreFound tries both on what they have to find, and on what they have to leave.
func TestDecisionsAreFound(t *testing.T) {
	const head = "package p\n\nfunc f(err error, u unit) {\n\t"
	for line, want := range map[string]int{
		`_ = strings.HasPrefix(err.Error(), "start")`:                  1,
		`_ = strings.Contains(strings.ToLower(err.Error()), "no")`:     1,
		`_ = bytes.Contains([]byte(err.Error()), x)`:                   1,
		`_, _, _ = strings.Cut(err.Error(), ": ")`:                     1,
		`_ = pattern.MatchString(err.Error())`:                         1,
		`_ = err.Error() == "gone"`:                                    1,
		"text := err.Error()\n\t_ = strings.EqualFold(text, \"gone\")": 1,
		`_, _, _ = strings.Cut(err.Error(), "\n")`:                     0,
		`_ = errors.Is(err, os.ErrNotExist)`:                           0,
		`_ = strings.Contains(out, "no such file")`:                    0,
		`_ = err.Error() != told`:                                      0,
	} {
		if got := textDecisions(t, "p.go", head+line+"\n}\n"); len(got) != want {
			t.Errorf("decisions by text in %s: %v, want %d", line, got, want)
		}
	}

	for line, want := range map[string]int{
		`_, _, _ = strings.Cut(u.Name, "/")`:                1,
		`_ = strings.Split(u.ID.String(), "/")`:             1,
		`_ = strings.TrimPrefix(u.ID().String(), "agent/")`: 1,
		`_ = strings.HasPrefix(name, "node/")`:              1,
		`_ = "host/" + node`:                                1,
		`_ = parent + "/" + node`:                           0,
		`_, _, _ = strings.Cut(line, "=")`:                  0,
	} {
		if got := cutUnits(t, "p.go", head+line+"\n}\n"); len(got) != want {
			t.Errorf("cut units in %s: %v, want %d", line, got, want)
		}
	}
}

// decidingFiles returns the files of the programs, without tests.
func decidingFiles(t *testing.T) []string {
	t.Helper()

	return slices.DeleteFunc(goFiles(t), func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, root+"/test/")
	})
}

// Functions of packages strings and bytes, and methods of a regular expression: deciding are those whose answer depends
// on a text, parting those that take one apart.
var (
	deciding = regexp.MustCompile(`^(Has(Pre|Suf)fix|Contains(Any|Func|Rune)?|EqualFold|` +
		`(Last)?Index(Any|Byte|Func|Rune)?|Cut((Pre|Suf)fix)?|Count|Match(String)?|Find\w*)$`)
	parting = regexp.MustCompile(`^(Has(Pre|Suf)fix|(Last)?Index(Byte)?|Cut((Pre|Suf)fix)?|Trim(Pre|Suf)fix|` +
		`Split(After)?(N|Seq)?)$`)
)

// textDecisions returns the places of a file where an error's text decides.
func textDecisions(t *testing.T, path, text string) []string {
	t.Helper()
	var found []string
	set, file := parsed(t, path, text)
	for _, d := range file.Decls {
		texts := map[string]bool{} // variables that hold an error's text
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, value := range n.Rhs {
					if name, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && isErrorText(value) {
						texts[name.Name] = true
					}
				}

			case *ast.CallExpr:
				if name := called(n); deciding.MatchString(name) && readsText(n, texts) && !firstLine(n) {
					found = append(found, set.Position(n.Pos()).String())
				}
			case *ast.BinaryExpr:
				equal := n.Op == token.EQL || n.Op == token.NEQ
				if equal && ((isErrorText(n.X) && isLiteral(n.Y)) || (isErrorText(n.Y) && isLiteral(n.X))) {
					found = append(found, set.Position(n.Pos()).String())
				}
			}

			return true
		})
	}

	return found
}

// cutUnits returns the places of a file where a unit's name is taken apart or put together.
func cutUnits(t *testing.T, path, text string) []string {
	t.Helper()
	partOfName := regexp.MustCompile(`^"[a-z][a-z0-9-]*/"$`)
	var found []string
	set, file := parsed(t, path, text)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !parting.MatchString(called(n)) || len(n.Args) < 2 {
				return true
			}
			by, ok := n.Args[1].(*ast.BasicLit)
			if ok && (partOfName.MatchString(by.Value) || (by.Value == `"/"` && isUnitText(n.Args[0]))) {
				found = append(found, set.Position(n.Pos()).String())
			}

		case *ast.BinaryExpr:
			if begin, ok := n.X.(*ast.BasicLit); ok && n.Op == token.ADD && partOfName.MatchString(begin.Value) {
				found = append(found, set.Position(n.Pos()).String())
			}
		}

		return true
	})

	return found
}

func parsed(t *testing.T, path, text string) (*token.FileSet, *ast.File) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	return set, file
}

// called returns the name of the function or method that a call calls by a selector.
func called(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}

	return ""
}

// readsText reports whether an argument is an error's text, or a variable that holds one.
func readsText(call *ast.CallExpr, texts map[string]bool) bool {
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		name, ok := arg.(*ast.Ident)

		return isErrorText(arg) || (ok && texts[name.Name])
	})
}

// isErrorText reports whether an expression is the text of an error, or made of it by a call.
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	if called(call) == "Error" && len(call.Args) == 0 {
		return true
	}
	name := called(call)

	return (name == "" || name == "ToLower" || name == "ToUpper" || name == "TrimSpace") &&
		slices.ContainsFunc(call.Args, isErrorText)
}

// firstLine reports whether a call takes lines apart, which are shown and do not decide.
func firstLine(call *ast.CallExpr) bool {
	if len(call.Args) < 2 {
		return false
	}
	by, ok := call.Args[1].(*ast.BasicLit)

	return ok && by.Value == `"\n"`
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)

	return ok
}

// isUnitText reports whether an expression is the name of a unit: a field or method Name or ID, or the text of one.
func isUnitText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return isUnitText(e.Fun)
	case *ast.SelectorExpr:
		return e.Sel.Name == "ID" || e.Sel.Name == "Name" || e.Sel.Name == "Unit" || isUnitText(e.X)
	}

	return false
}
