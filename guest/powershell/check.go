package powershell

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// checker goes through a script without running it, and lists what it lacks.
type checker struct {
	functions map[string]bool
	line      int
	// sources says that functions may be defined in files that the script runs in its own scope: then only the run
	// shows whether a name is a function.
	sources bool
	lacks   []Lack
}

// Lack is something that a script uses and that is not part of Mullion's PowerShell. The script runs all the same; the
// statement that needs it is an error when it is reached.
type Lack struct {
	Line int
	What string
}

// String is a line for the user.
func (l Lack) String() string { return fmt.Sprintf("line %d: %s", l.Line, l.What) }

// Lacks lists what a script lacks, as far as its text shows that. The error is that of a text that cannot be read.
func Lacks(text string) ([]Lack, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return lacks(s, nil), nil
}

// lacks lists what a script lacks: commands, parameters, types, members and variables. Other functions than its own may
// be known.
func lacks(s *Script, functions map[string]bool) []Lack {
	c := &checker{functions: map[string]bool{}, line: 1, sources: s.sources}
	maps.Copy(c.functions, functions)
	c.script(s)
	return c.lacks
}

// at says that what follows is in a line.
func (c *checker) at(line int) {
	if line > 0 {
		c.line = line
	}
}

func (c *checker) lack(format string, args ...any) {
	one := Lack{Line: c.line, What: fmt.Sprintf(format, args...)}
	if !slices.Contains(c.lacks, one) {
		c.lacks = append(c.lacks, one)
	}
}

func (c *checker) script(s *Script) {
	outer := c.functions
	c.functions = maps.Clone(outer) // functions of a block are local to it
	defer func() { c.functions = outer }()
	for _, st := range s.body { // functions may be called above their definition
		if f, ok := st.(*functionStmt); ok {
			c.functions[f.bare()] = true
		}
	}
	for _, what := range s.lacking {
		c.lack("%s is %s", what, notHereWords)
	}
	for _, p := range s.params {
		for _, what := range p.lacking {
			c.lack("%s is %s", what, notHereWords)
		}
		if p.fallback != nil {
			p.fallback.check(c)
		}
		for _, one := range p.conditions {
			for _, x := range one.args {
				x.check(c)
			}
		}
	}
	s.begin.check(c)
	s.process.check(c)
	s.body.check(c)
}

func (x *literal) check(*checker) {}
func (x *variable) check(c *checker) {
	if !x.env {
		c.reads(x.name)
	}
}
func (x *blockX) check(c *checker) { c.script(x.script) }
func (x *unary) check(c *checker)  { x.x.check(c) }
func (x *sub) check(c *checker)    { x.body.check(c) }

func (x *cast) check(c *checker) {
	x.x.check(c)
	if !knownType(x.to) {
		c.lack("the type [%s] is %s", x.written, notHereWords)
	}
}

func (x *template) check(c *checker) {
	for _, p := range x.parts {
		p.check(c)
	}
}

func (x *list) check(c *checker) {
	for _, i := range x.items {
		i.check(c)
	}
}

func (x *binary) check(c *checker) {
	x.a.check(c)
	x.b.check(c)
	var err error
	op, _ := caseOf(x.op)
	switch pattern, whole := beginning(firstOf(x.b)); {
	case !whole:
	case op == "-like", op == "-notlike":
		_, err = wildcard(pattern)
	case op == "-match", op == "-notmatch", op == "-replace", op == "-split":
		_, err = compile(pattern)
	}
	if err != nil {
		c.lack("%v", strings.TrimSuffix(err.Error(), "."))
	}
	if l, ok := x.b.(*list); ok && op == "-split" && len(l.items) > 2 {
		c.lack("-split with options is not part of Mullion's PowerShell")
	}
}

// firstOf returns an expression, or the first one of a list.
func firstOf(x expr) expr {
	if l, ok := x.(*list); ok {
		return l.items[0]
	}
	return x
}

func (x *index) check(c *checker) {
	x.of.check(c)
	x.at.check(c)
}

func (x *member) check(c *checker) {
	x.of.check(c)
	if x.by != nil {
		x.by.check(c)
	}
	for _, a := range x.args {
		a.check(c)
	}
	if x.call && x.by == nil && !knownMethod(x.name, len(x.args)) {
		c.lack("the method .%s with %d arguments is not part of Mullion's PowerShell", x.name, len(x.args))
	}
}

func (s *assign) check(c *checker) {
	s.x.check(c)
	if s.to.env {
		return
	}
	l, ok := s.x.(*pipeline)
	if _, preference := preferences()[s.to.name]; !ok || !preference || len(l.stages) != 1 || l.stages[0].x == nil {
		return
	}
	if v, whole := beginning(l.stages[0].x); whole {
		if err := checkPreference(s.to.name, v); err != nil {
			c.lack("%v", err)
		}
	}
}

func (s *whileStmt) check(c *checker) { s.cond.check(c); s.body.check(c) }
func (s *doStmt) check(c *checker)    { s.body.check(c); s.cond.check(c) }
func (s *forStmt) check(c *checker) {
	for _, one := range []stmt{s.first, s.step} {
		if one != nil {
			one.check(c)
		}
	}
	if s.cond != nil {
		s.cond.check(c)
	}
	s.body.check(c)
}

func (s *foreachStmt) check(c *checker) {
	s.in.check(c)
	s.body.check(c)
}

// bare is a function's name without its scope.
func (s *functionStmt) bare() string { return s.name[strings.Index(s.name, ":")+1:] }

func (s *functionStmt) check(c *checker) {
	c.functions[s.bare()] = true
	c.script(s.script)
}

func (s *ifStmt) check(c *checker) {
	for i := range s.conds {
		s.conds[i].check(c)
		s.blocks[i].check(c)
	}
	s.other.check(c)
}

func (s *leave) check(c *checker) {
	if s.x != nil {
		s.x.check(c)
	}
}

func (s *pipeline) check(c *checker) {
	for i := range s.stages {
		st := &s.stages[i]
		c.at(st.line)
		if st.x != nil {
			st.x.check(c)
		} else {
			c.command(st, i > 0)
		}
		for _, r := range st.others {
			if r.file != nil {
				r.file.check(c)
			}
		}
		if st.file != nil {
			st.file.check(c)
			path, _ := beginning(st.file)
			if err := badTarget(path); err != nil {
				c.lack("%v", err)
			}
		}
	}
}

// cmdletName matches names that look like a cmdlet's; an unknown one is a cmdlet that is not implemented.
var cmdletName = lazyregexp.New(`^[A-Za-z]+-[A-Za-z]+$`)

// aliases are PowerShell's aliases of cmdlets that are not implemented, and its own functions
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/get-alias); a program with such a
// name must be called with .exe.
const aliases = " " +
	"asnp cfs clc clhy cli clp cnsn chdir cvpa dbp dnsn ebp epal epsn etsn " +
	"exsn fc fhx fw gbp gcb gcs gdr ghy gin gmo gsn gsnp gtz h history " +
	"ihy ii invoke ipal ipsn ise iwmi lp more mount mp nal ndr " +
	"nmo npssc nsn ogv oss pause prompt pumo r rbp rcsn rdr rmo rnp rsn rsnp " +
	"rujb rwmi sal sbp sc scb shcm si stz sujb swmi " +
	"trcm "
