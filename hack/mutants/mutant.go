package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is what go list says of a package.
type pkg struct {
	Dir, ImportPath string
	GoFiles         []string
	TestGoFiles     []string
	XTestGoFiles    []string
}

// list returns the packages that have tests of the pure rung.
func list(ctx context.Context, patterns []string) ([]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{
		"list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles",
	}, patterns...)...)
	cmd.Stderr = os.Stderr //nolint:forbidigo // what go says, says the program
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}

	var packages []pkg
	for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			packages = append(packages, p)
		}
	}

	return packages, nil
}

// mutant is one change of one file.
type mutant struct {
	pkg          pkg
	file         string
	line         int
	from, to     int // the bytes of the file that are replaced
	old, instead string
	function     string
}

// String names a mutant by package, file, line and change.
func (m mutant) String() string {
	return fmt.Sprintf("%s %s:%d %s: %s → %s", strings.TrimPrefix(m.pkg.ImportPath, "mullion.dev/mullion/"),
		filepath.Base(m.file), m.line, m.function, m.old, m.instead)
}

// draw returns the mutants that the seed draws of all packages, in the order of the drawing.
func draw(packages []pkg, o options) ([]mutant, error) {
	var all []mutant
	for _, p := range packages {
		for _, name := range p.GoFiles {
			found, err := mutantsOf(p, name)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}

	random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // the same seed shall draw the same
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	var drawn []mutant
	of := map[string]int{}
	for _, m := range all {
		if len(drawn) == o.n {
			break
		}
		if of[m.pkg.ImportPath] < o.each {
			of[m.pkg.ImportPath]++
			drawn = append(drawn, m)
		}
	}

	return drawn, nil
}

// mutantsOf returns all mutants of a file.
func mutantsOf(p pkg, name string) ([]mutant, error) {
	path := filepath.Join(p.Dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}

	var found []mutant
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}

		ast.Inspect(f.Body, func(n ast.Node) bool {
			for _, c := range changes(n) {
				at := files.Position(c.at)
				found = append(found, mutant{
					pkg:      p,
					file:     path,
					line:     at.Line,
					from:     at.Offset,
					to:       at.Offset + len(c.old),
					old:      c.old,
					instead:  c.instead,
					function: f.Name.Name,
				})
			}

			return true
		})
	}

	return found, nil
}

// change is a change of a text at a place.
type change struct {
	at           token.Pos
	old, instead string
}

// turned returns what takes the place of operators.
func turned() map[token.Token]string {
	return map[token.Token]string{
		token.EQL:  "!=",
		token.NEQ:  "==",
		token.LSS:  ">=",
		token.LEQ:  ">",
		token.GTR:  "<=",
		token.GEQ:  "<",
		token.LAND: "||",
		token.LOR:  "&&",
	}
}

// changes returns what can be changed at a node.
func changes(n ast.Node) []change {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if to, ok := turned()[n.Op]; ok {
			return []change{{n.OpPos, n.Op.String(), to}}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			return []change{{n.OpPos, "!", ""}}
		}

	case *ast.ReturnStmt:
		return returned(n)
	case *ast.IfStmt:
		// An error that is not looked at: the condition holds never, and err counts as used.
		if c, ok := n.Cond.(*ast.BinaryExpr); ok && c.Op == token.NEQ && named(c.X, "err") && named(c.Y, "nil") {
			return []change{{c.X.Pos(), "err", "false && err"}}
		}
	}

	return nil
}

// returned returns the changes of the truths that are returned.
func returned(n *ast.ReturnStmt) []change {
	var found []change
	for _, r := range n.Results {
		switch {
		case named(r, "true"):
			found = append(found, change{r.Pos(), "true", "false"})
		case named(r, "false"):
			found = append(found, change{r.Pos(), "false", "true"})
		}
	}

	return found
}

func named(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// errNoMutant says that a change does not compile.
var errNoMutant = errors.New("the change does not compile")

// changed writes the file of a mutant to dir, and returns the flag of the compiler that puts it in the place of the
// tree's.
func (m mutant) changed(dir string) (flag string, err error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if m.to > len(text) || string(text[m.from:m.to]) != m.old {
		return "", fmt.Errorf("%s has changed meanwhile: %w", m.file, fs.ErrInvalid)
	}

	file, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: file}})
	if err != nil {
		return "", err
	}
	content := string(text[:m.from]) + m.instead + string(text[m.to:])

	return "-overlay=" + overlay,
		errors.Join(os.WriteFile(file, []byte(content), 0o600), os.WriteFile(overlay, list, 0o600))
}
