package arch_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kindFolders have the kinds of pods and containers: kind.go says what a kind is, kind_<name>.go has one.
var kindFolders = []string{"internal/runtime/cri", "internal/runtime/engine"}

// TestOfWhatKindAPodIs: what a kind of pods has of its own is in the kind's file. No other file asks of what kind a pod
// is, and a kind answers no yes or no, by which one would ask after all.
func TestOfWhatKindAPodIs(t *testing.T) {
	for _, folder := range kindFolders {
		files := parseFolder(t, filepath.Join(root, folder))
		types := kindTypes(files)
		if !slices.Contains(types, "process") || len(types) < 3 {
			t.Fatalf("%s: the kinds' files have the types %q only", folder, types)
		}
		for name, file := range files {
			for _, problem := range kindProblems(name, file, types) {
				t.Errorf("%s/%s: %s", folder, name, problem)
			}
		}
	}
}

// parseFolder reads the files of a folder's package, without its tests, by name.
func parseFolder(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = file
	}

	return files
}

// kindTypes returns the types that the kinds' files declare.
func kindTypes(files map[string]*ast.File) []string {
	var types []string
	for name, file := range files {
		if strings.HasPrefix(name, "kind_") {
			types = append(types, declaredTypes(file)...)
		}
	}

	return types
}

func declaredTypes(file *ast.File) []string {
	var types []string
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					types = append(types, s.Name.Name)
				}
			}
		}
	}

	return types
}

// kindProblems returns what is wrong in a file where the kinds' files declare types.
func kindProblems(name string, file *ast.File, types []string) []string {
	switch {
	case name == "kind.go":
		return answersYesOrNo(file)
	case strings.HasPrefix(name, "kind_"):
		return nil
	}

	problems := methodsOf(file, types)
	isKind := func(e ast.Expr) (string, bool) {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		id, ok := e.(*ast.Ident)

		return fmt.Sprint(e), ok && slices.Contains(types, id.Name)
	}

	ast.Inspect(file, func(n ast.Node) bool {
		var asked []ast.Expr
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if slices.Contains([]string{"HostProcess", "GetHostProcess", "Kind"}, n.Sel.Name) && !isPackage(file, n.X) {
				problems = append(problems, "it asks for ."+n.Sel.Name)
			}
		case *ast.Ident:
			if slices.Contains([]string{"hypervisorHandler", "IsolationAnnotation", "machineOf", "hostProcessOf"}, n.Name) {
				problems = append(problems, "it asks by "+n.Name)
			}

		case *ast.CompositeLit:
			asked = []ast.Expr{n.Type}
		case *ast.TypeAssertExpr:
			asked = []ast.Expr{n.Type}
		case *ast.CaseClause:
			asked = n.List
		}

		for _, e := range asked {
			if of, ok := isKind(e); ok {
				problems = append(problems, "it names the kind "+of)
			}
		}

		return true
	})

	return problems
}

// isPackage reports whether an expression is a package that a file imports, by its usual name.
func isPackage(file *ast.File, e ast.Expr) bool {
	id, ok := e.(*ast.Ident)

	return ok && slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.HasSuffix(strings.Trim(i.Path.Value, `"`), "/"+id.Name)
	})
}

// methodsOf returns the methods of types that a file has.
func methodsOf(file *ast.File, types []string) []string {
	var problems []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}

		if id, ok := of.(*ast.Ident); ok && slices.Contains(types, id.Name) {
			problems = append(problems, fmt.Sprintf("it has the method %s of %s", f.Name.Name, id.Name))
		}
	}

	return problems
}

// answersYesOrNo returns the methods of a file's interfaces that return a bool.
func answersYesOrNo(file *ast.File) []string {
	var problems []string
	ast.Inspect(file, func(n ast.Node) bool {
		i, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}

		for _, m := range i.Methods.List {
			f, ok := m.Type.(*ast.FuncType)
			if !ok || f.Results == nil {
				continue
			}
			for _, r := range f.Results.List {
				if id, ok := r.Type.(*ast.Ident); ok && id.Name == "bool" {
					problems = append(problems, fmt.Sprintf("method %s of a kind returns a bool", m.Names[0].Name))
				}
			}
		}

		return true
	})

	return problems
}

// TestKindProblems has the ways to ask of what kind a pod is.
func TestKindProblems(t *testing.T) {
	types := []string{"process", "machine", "InMachine", "HostProcess"}
	for _, tc := range []struct{ name, file, code, want string }{
		{"a field", "stop.go", `func f(c container) bool { return c.HostProcess }`, "it asks for .HostProcess"},
		{"a getter", "stop.go", `func f(c container) bool { return c.GetHostProcess() }`, "it asks for .GetHostProcess"},
		{"a comparison", "stop.go", `func f(c container) bool { return c.Kind == nil }`, "it asks for .Kind"},
		{"another Kind", "stop.go", `import "x/admission"; func f() { ask(admission.Kind(1)) }`, ""},
		{"a handler", "stop.go", `func f(h string) bool { return h == hypervisorHandler }`, "it asks by hypervisorHandler"},
		{"an assertion", "stop.go", `func f(k kind) { _, _ = k.(machine) }`, "it names the kind machine"},
		{"a pointer", "stop.go", `func f(k kind) { _, _ = k.(*HostProcess) }`, "HostProcess"},
		{"a switch", "stop.go", `func f(k kind) { switch k.(type) { case machine: } }`, "it names the kind machine"},
		{"a literal", "stop.go", `func f(k kind) bool { return k == InMachine{} }`, "it names the kind InMachine"},
		{"a method", "stop.go", `func (m machine) stop() {}`, "it has the method stop of machine"},
		{"a variable", "stop.go", `func f() { machine := 1; use(machine) }`, ""},
		{"in a kind's file", "kind_machine.go", `func f(k kind) { _, _ = k.(machine) }`, ""},
		{"a yes or no", "kind.go", `type kind interface { inHost() bool }`, "method inHost of a kind returns a bool"},
		{"an answer", "kind.go", `type kind interface { folder() string }`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code := "package x\n" + tc.code
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", code, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(kindProblems(tc.file, file, types), "\n")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("problems %q, want %q", got, tc.want)
			}
		})
	}
}
