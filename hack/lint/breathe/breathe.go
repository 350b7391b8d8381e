// Package breathe finds code that is set solid: that leaves its reader no pause.
//
//   - A body of more than 20 lines has a blank one: it has paragraphs. Composite literals and texts are data, and count
//     as one line. A body of one statement has nothing to part.
//   - && within || has parentheses.
//   - At most two assignments stand in one, a, b = x, y, unless the values change places.
//   - A struct literal of three keyed fields or more has several lines, unless it is a row of a table: an element of
//     another literal.
//
// It reads the syntax only.
package breathe

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

const (
	longBody      = 20 // lines
	atOnce        = 2  // assignments
	fieldsOfLines = 3
)

// Analyzer returns the analyzer.
func Analyzer() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "breathe",
		Doc:  "find code that leaves its reader no pause",
		Run:  run,
	}
}

func run(pass *analysis.Pass) (any, error) {
	for _, file := range pass.Files {
		if ast.IsGenerated(file) {
			continue
		}

		name := pass.Fset.Position(file.FileStart).Filename
		source, err := pass.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}

		c := checker{
			pass:  pass,
			lines: bytes.Split(source, []byte("\n")),
			rows:  map[*ast.CompositeLit]bool{},
		}
		ast.Inspect(file, c.node)
	}

	return nil, nil
}

// checker checks a file.
type checker struct {
	pass  *analysis.Pass
	lines [][]byte
	rows  map[*ast.CompositeLit]bool // the literals that are rows of tables; a table is seen before its rows
}

func (c *checker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		c.body(n.Body)
	case *ast.FuncLit:
		c.body(n.Body)
	case *ast.BinaryExpr:
		c.condition(n)
	case *ast.AssignStmt:
		c.assignment(n)
	case *ast.CompositeLit:
		c.literal(n)
	}

	return true
}

// line returns the line of a position, as it is in the file.
func (c *checker) line(at token.Pos) int { return c.pass.Fset.PositionFor(at, false).Line }

// body reports a long body without a blank line.
func (c *checker) body(b *ast.BlockStmt) {
	if b == nil || len(b.List) < 2 {
		return
	}

	first, last := c.line(b.Lbrace)+1, c.line(b.Rbrace)-1
	if last-first+1 <= longBody {
		return
	}

	for n := first; n <= last; n++ {
		if len(bytes.TrimSpace(c.lines[n-1])) == 0 {
			return
		}
	}

	if n := last - first + 1 - c.data(b); n > longBody {
		c.pass.Reportf(b.Lbrace, "a body of %d lines has paragraphs: part its thoughts with blank lines", n)
	}
}

// data returns how many lines of a body are those of literals, beyond the first of each.
func (c *checker) data(b *ast.BlockStmt) int {
	n := 0
	ast.Inspect(b, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.CompositeLit, *ast.BasicLit:
			n += c.line(node.End()) - c.line(node.Pos())
			return false
		}
		return true
	})
	return n
}

// condition reports && within || without parentheses.
func (c *checker) condition(b *ast.BinaryExpr) {
	if b.Op != token.LOR {
		return
	}

	for _, side := range []ast.Expr{b.X, b.Y} {
		if and, ok := side.(*ast.BinaryExpr); ok && and.Op == token.LAND {
			c.pass.Reportf(and.OpPos, "&& within || has parentheses")
		}
	}
}

// assignment reports many assignments in one.
func (c *checker) assignment(a *ast.AssignStmt) {
	if len(a.Lhs) <= atOnce || len(a.Lhs) != len(a.Rhs) || permutes(a) {
		return
	}

	c.pass.Reportf(a.Pos(), "%d assignments in one: a line each, or two that belong together", len(a.Lhs))
}

// permutes says whether an assignment uses what it assigns to, as a, b, c = b, c, a.
func permutes(a *ast.AssignStmt) bool {
	if a.Tok == token.DEFINE {
		return false
	}

	assigned := map[string]bool{}
	for _, e := range a.Lhs {
		assigned[types.ExprString(e)] = true
	}

	used := false
	for _, e := range a.Rhs {
		ast.Inspect(e, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && assigned[types.ExprString(e)] {
				used = true
			}
			return !used
		})
	}

	return used
}

// literal reports a struct literal of several keyed fields on one line.
func (c *checker) literal(l *ast.CompositeLit) {
	c.elements(l)

	keyed := 0
	for _, e := range l.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if _, ok := pair.Key.(*ast.Ident); ok {
				keyed++
			}
		}
	}

	if keyed < fieldsOfLines || c.rows[l] || table(l) || c.line(l.Lbrace) != c.line(l.Rbrace) {
		return
	}
	c.pass.Reportf(l.Lbrace, "a literal of %d keyed fields has lines: a field each", keyed)
}

// table says whether a literal is a list or a map.
func table(l *ast.CompositeLit) bool {
	switch l.Type.(type) {
	case *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// elements notes the rows of a table: elements without a key, the values of a list or a map, and those whose type is
// left out, which are of a list or a map too.
func (c *checker) elements(l *ast.CompositeLit) {
	for _, e := range l.Elts {
		pair, keyed := e.(*ast.KeyValueExpr)
		if keyed {
			e = pair.Value
		}
		if address, ok := e.(*ast.UnaryExpr); ok {
			e = address.X
		}

		if row, ok := e.(*ast.CompositeLit); ok && (!keyed || table(l) || row.Type == nil) {
			c.rows[row] = true
		}
	}
}
