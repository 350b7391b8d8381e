package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of the measures, as the reviews of this repository and of others took them.
const (
	longRun    = 25  // lines: a run without a blank one that nobody reads at a glance
	wideLine   = 120 // columns
	tabWidth   = 4
	fewKeyed   = 3 // fields: from here on a literal is read better with a line each
	perMille   = 1000
	percent    = 100
	middle     = 50
	lastOfMany = 99
)

// counts are the measures of a room.
type counts struct {
	lines, wide         int
	inside, blank, run  int // lines inside functions, the blank ones, those in long runs
	long, solid         int // functions of many lines, those without a blank one
	mixed, two, three   int
	keyed               int
	commented, defining int // functions with a comment, those whose comment begins "x is"
	names, letters      int // local names, and the length of all of them
	lengths             []int
	methods             map[string]int // of a type: FOLDER.TYPE
}

func newCounts() *counts { return &counts{methods: map[string]int{}} }

// merge adds the counts of another room.
func (c *counts) merge(o *counts) {
	c.lines += o.lines
	c.wide += o.wide
	c.inside += o.inside
	c.blank += o.blank
	c.run += o.run
	c.long += o.long
	c.solid += o.solid
	c.mixed += o.mixed
	c.two += o.two
	c.three += o.three
	c.keyed += o.keyed
	c.commented += o.commented
	c.defining += o.defining
	c.names += o.names
	c.letters += o.letters
	c.lengths = append(c.lengths, o.lengths...)

	for name, n := range o.methods {
		c.methods[name] += n
	}
}

// add counts a file. A generated one is passed over.
func (c *counts) add(path string, source []byte) error {
	set := token.NewFileSet()

	file, err := parser.ParseFile(set, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("read Go code: %w", err)
	}

	if ast.IsGenerated(file) {
		return nil
	}

	lines := bytes.Split(bytes.TrimSuffix(source, []byte("\n")), []byte("\n"))
	c.lines += len(lines)
	for _, line := range lines {
		if columns(line) > wideLine {
			c.wide++
		}
	}

	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}

		c.function(set, f, lines)
		c.comment(f)

		if name := receiver(f); name != "" {
			c.methods[filepath.ToSlash(filepath.Dir(path))+"."+name]++
		}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		c.node(set, n)
		return true
	})
	return nil
}

// columns returns the width of a line. Bytes after the first of a character have none.
func columns(line []byte) int {
	n := 0
	for _, b := range line {
		switch {
		case b == '\t':
			n += tabWidth
		case b&0xc0 != 0x80:
			n++
		}
	}
	return n
}

// function counts the lines of a body, and the runs of those that follow each other without a blank one.
func (c *counts) function(set *token.FileSet, f *ast.FuncDecl, lines [][]byte) {
	c.lengths = append(c.lengths, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)

	first := set.Position(f.Body.Lbrace).Line + 1
	last := set.Position(f.Body.Rbrace).Line - 1
	blank, run := 0, 0

	ends := func() {
		if run > longRun {
			c.run += run
		}
		run = 0
	}

	for n := first; n <= last; n++ {
		c.inside++

		if len(bytes.TrimSpace(lines[n-1])) > 0 {
			run++
			continue
		}

		blank++
		ends()
	}

	ends()
	c.blank += blank

	if last-first+1 > longRun {
		c.long++
		if blank == 0 {
			c.solid++
		}
	}
}

// comment counts the comment of a function, and whether it says what the function is instead of what it does.
func (c *counts) comment(f *ast.FuncDecl) {
	words := strings.Fields(f.Doc.Text())
	if len(words) == 0 {
		return
	}

	c.commented++
	if len(words) > 1 && words[0] == f.Name.Name && (words[1] == "is" || words[1] == "are") {
		c.defining++
	}
}

// receiver returns the name of the type whose method f is, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}

	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}

	switch of := t.(type) {
	case *ast.IndexExpr:
		t = of.X
	case *ast.IndexListExpr:
		t = of.X
	}

	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}

	return ""
}

// node counts what is set on one line.
func (c *counts) node(set *token.FileSet, n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if n.Op == token.LOR {
			c.mixed += ands(n)
		}
	case *ast.AssignStmt:
		c.assignment(n)
	case *ast.CompositeLit:
		c.literal(set, n)
	}
}

// ands returns how many sides of an || are an && without parentheses.
func ands(or *ast.BinaryExpr) int {
	n := 0
	for _, side := range []ast.Expr{or.X, or.Y} {
		if b, ok := side.(*ast.BinaryExpr); ok && b.Op == token.LAND {
			n++
		}
	}
	return n
}

func (c *counts) assignment(a *ast.AssignStmt) {
	if len(a.Lhs) == len(a.Rhs) {
		switch {
		case len(a.Lhs) == 2:
			c.two++
		case len(a.Lhs) > 2:
			c.three++
		}
	}

	if a.Tok != token.DEFINE {
		return
	}

	for _, e := range a.Lhs {
		if name, ok := e.(*ast.Ident); ok && name.Name != "_" {
			c.names++
			c.letters += len(name.Name)
		}
	}
}

// literal counts a composite literal of several keyed fields that stands on one line. Maps of constants count too.
func (c *counts) literal(set *token.FileSet, l *ast.CompositeLit) {
	keyed := 0
	for _, e := range l.Elts {
		if _, ok := e.(*ast.KeyValueExpr); ok {
			keyed++
		}
	}

	if keyed >= fewKeyed && set.Position(l.Lbrace).Line == set.Position(l.Rbrace).Line {
		c.keyed++
	}
}

// row returns the measures as a line of the table.
func (c *counts) row(name string) string {
	slices.Sort(c.lengths)

	return fmt.Sprintf("%s\t%d\t%.1f %%\t%.0f %%\t%.0f %%\t%.2f\t%.1f\t%.2f\t%.1f\t%.1f\t%.0f %%\t%.1f\t%d\t%d\t",
		name, c.lines,
		share(c.blank, c.inside, percent), share(c.run, c.inside, percent), share(c.solid, c.long, percent),
		share(c.mixed, c.lines, perMille), share(c.two, c.lines, perMille), share(c.three, c.lines, perMille),
		share(c.keyed, c.lines, perMille), share(c.wide, c.lines, perMille),
		share(c.defining, c.commented, percent), share(c.letters, c.names, 1),
		c.exceeded(middle), c.exceeded(lastOfMany))
}

// exceeded returns the length that all but the last part, in percent, of the functions have at most.
func (c *counts) exceeded(part int) int {
	if len(c.lengths) == 0 {
		return 0
	}
	return c.lengths[(len(c.lengths)-1)*part/percent]
}

// share returns n of all in parts of whole, 0 of nothing.
func share(n, all, whole int) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) * float64(whole) / float64(all)
}

// largest names the n types with the most methods, a type a line.
func (c *counts) largest(n int) []string {
	types := slices.SortedFunc(maps.Keys(c.methods), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.methods[b], c.methods[a]), cmp.Compare(a, b))
	})

	var lines []string
	for _, name := range types[:min(n, len(types))] {
		lines = append(lines, fmt.Sprintf("%4d methods  %s", c.methods[name], name))
	}
	return lines
}
