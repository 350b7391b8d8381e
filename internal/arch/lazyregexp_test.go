package arch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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

		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNewLazyRegexp(call) {
				return true
			}

			text, ok := literal(call.Args[0])
			if !ok {
				t.Errorf("%s: lazyregexp.New of something that is no literal", path)
			} else if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			compiled++

			return true
		})
	}
	if compiled < 20 {
		t.Errorf("found only %d expressions", compiled)
	}
}

func isNewLazyRegexp(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || fun.Sel.Name != "New" {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)

	return ok && pkg.Name == "lazyregexp"
}

// literal gives the value of a string that is written out, in one piece or in several.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, okToo := literal(e.Y)
		return left + right, ok && okToo && e.Op == token.ADD
	default:
		return "", false
	}
}
