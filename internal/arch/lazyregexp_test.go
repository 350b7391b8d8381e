package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLazyRegexpsCompile compiles each text that is given to lazyregexp.New, which else fails at its first use alone.
func TestLazyRegexpsCompile(t *testing.T) {
	compiled := 0
	for _, path := range files(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || !strings.Contains(read(t, path), "lazyregexp.New(") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		named := constants(t, filepath.Dir(path))
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNewLazyRegexp(call) {
				return true
			}

			text, ok := literal(call.Args[0], named)
			if !ok {
				t.Errorf("%s: lazyregexp.New of something that is no literal", path)
			} else if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			compiled++

			return true
		})
	}

	if compiled < 60 {
		t.Errorf("found only %d expressions", compiled)
	}
}

// TestExpressionsOfPackagesAreLazy holds that what is linked into a program compiles no expression at its start: a
// command takes milliseconds, and a process that sleeps keeps what it compiled.
func TestExpressionsOfPackagesAreLazy(t *testing.T) {
	looked := 0
	for _, path := range files(t, ".go") {
		inPackages := strings.HasPrefix(path, root+"/internal/") || strings.HasPrefix(path, root+"/guest/")
		if strings.HasSuffix(path, "_test.go") || !inPackages {
			continue
		}
		looked++
		file, err := parser.ParseFile(token.NewFileSet(), path, read(t, path), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}

			ast.Inspect(decl, func(n ast.Node) bool {
				if _, later := n.(*ast.FuncLit); later {
					return false
				}
				if call, ok := n.(*ast.CallExpr); ok && isCall(call, "regexp", "MustCompile") {
					t.Errorf("%s: a variable of the package compiles an expression: use lazyregexp.New", path)
				}

				return true
			})
		}
	}

	if looked < 500 {
		t.Errorf("looked at %d files only", looked)
	}
}

func isNewLazyRegexp(call *ast.CallExpr) bool { return isCall(call, "lazyregexp", "New") }

// isCall reports whether a function of a package is called, by its usual name.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fun.Sel.Name != name {
		return false
	}
	of, ok := fun.X.(*ast.Ident)

	return ok && of.Name == pkg
}

// constants returns the strings that are constants of a folder's package, and written out.
func constants(t *testing.T, dir string) map[string]string {
	t.Helper()
	values := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, read(t, path), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.CONST {
				continue
			}

			for _, s := range decl.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok || len(spec.Values) != len(spec.Names) {
					continue
				}
				for i, name := range spec.Names {
					if text, ok := literal(spec.Values[i], nil); ok {
						values[name.Name] = text
					}
				}
			}
		}
	}

	return values
}

// literal gives the value of a string that is written out, in one piece or in several, or a constant.
func literal(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.Ident:
		text, ok := constants[e.Name]
		return text, ok

	case *ast.BinaryExpr:
		left, ok := literal(e.X, constants)
		right, okToo := literal(e.Y, constants)
		return left + right, ok && okToo && e.Op == token.ADD
	default:
		return "", false
	}
}

// TestNoTemplatesThatCallMethods: a program that evaluates templates by text/template or html/template keeps every
// exported method of what it converts to an interface, some nine megabytes of bin/mullion. Package fieldtemplate does
// without.
func TestNoTemplatesThatCallMethods(t *testing.T) {
	looked := 0
	for _, path := range files(t, ".go") {
		linked := strings.HasPrefix(path, root+"/internal/") || strings.HasPrefix(path, root+"/cmd/")
		if strings.HasSuffix(path, "_test.go") || !linked {
			continue
		}
		looked++
		file, err := parser.ParseFile(token.NewFileSet(), path, read(t, path), parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}

		for _, i := range file.Imports {
			if name, _ := strconv.Unquote(i.Path.Value); name == "text/template" || name == "html/template" {
				t.Errorf("%s imports %s: package fieldtemplate carries out templates", path, name)
			}
		}
	}

	if looked < 500 {
		t.Errorf("looked at only %d files", looked)
	}
}
