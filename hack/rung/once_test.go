package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// never are words in the names of tests of what must never happen: a part of a name begins with one, or it follows a
// small letter.
var never = regexp.MustCompile(`(^Test|[a-z0-9_])(` + strings.Join([]string{
	`Attack|Hostile|Evil|Forg(ed|ing|e[A-Z]|e\b)|Spoof|Escape|Malicious|Planted|Secret|NoLinks`,
	`Swap|Rac(e|es|ing)\b|Race[A-Z]|AtOnce|Concurrent|InParallel|While[A-Z]`,
	`Los(s|t|e|es)\b|Los(t|e|es)[A-Z]|Killed|Kills|Crash|[Cc]haos|Restart|Recover|Interrupted`,
	`Leak|Leftover|Traces|NothingBehind|LeavesNothing|[Ll]eft`,
	`Order|[Oo]rdered`,
}, "|") + `)`)

// TestOnceIsSaid holds that a test whose name says that it is of an attack, a race, a loss, of what is left behind or
// of an order says first of all that it has no second try.
func TestOnceIsSaid(t *testing.T) {
	found := 0
	err := testFiles("../..", func(path string, text []byte) {
		if strings.Contains(path, "internal/base/testrun") {
			return // its test of that call
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Name.Name == "TestMain" || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			if !never.MatchString(f.Name.Name) && !strings.Contains(filepath.ToSlash(path), "/test/attack/") {
				continue
			}

			found++
			if !saysOnce(f) {
				t.Errorf("%s: %s does not begin with testrun.Once", path, f.Name.Name)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if found < 100 {
		t.Errorf("%d such tests were looked at", found)
	}
}

// saysOnce reports whether a test begins with testrun.Once.
func saysOnce(f *ast.FuncDecl) bool {
	if len(f.Body.List) == 0 {
		return false
	}
	statement, ok := f.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}

	call, ok := statement.X.(*ast.CallExpr)
	if !ok {
		return false
	}

	name, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := name.X.(*ast.Ident)
	return ok && of.Name == "testrun" && name.Sel.Name == "Once"
}

// TestSaysOnce holds that a test that does not say it is found.
func TestSaysOnce(t *testing.T) {
	for body, want := range map[string]bool{
		"testrun.Once(t, testrun.Race); f()": true,
		"f(); testrun.Once(t, testrun.Race)": false,
		"testrun.Seed(t)":                    false,
		"":                                   false,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc TestRace(t *testing.T) {"+body+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := saysOnce(tree.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%q: %v, not %v", body, got, want)
		}
	}
}
