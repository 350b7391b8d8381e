package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/words"
)

// checker goes through a script without running it, and lists what it lacks.
type checker struct {
	cmdlets   cmdlet.Table
	functions map[string]bool
	line      int
	// sources says that functions may be defined in files that the script runs in its own scope: then only the run
	// shows whether a name is a function.
	sources bool
	lacks   []Lack
	types   map[string]bool   // that the script defines
	texts   map[string]string // of variables, as they were last assigned above
}

// Lack is something that a script uses and that is not part of Mullion's PowerShell. The script runs all the same; the
// statement that needs it is an error when it is reached.
type Lack struct {
	Line int
	What string
}

// String returns a line for the user.
func (l Lack) String() string { return fmt.Sprintf("line %d: %s", l.Line, l.What) }

// Lacks lists what a script lacks: commands, parameters, types, members and variables.
func Lacks(s *lang.Script, table cmdlet.Table) []Lack {
	c := &checker{
		cmdlets:   table,
		functions: map[string]bool{},
		line:      1,
		sources:   s.Sources,
		types:     map[string]bool{},
		texts:     map[string]string{},
	}
	c.script(s)
	return c.lacks
}

// firstOf returns an expression, or the first one of a list.
func firstOf(x lang.Expr) lang.Expr {
	if l, ok := x.(*lang.List); ok {
		return l.Items[0]
	}
	return x
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

func (c *checker) script(s *lang.Script) {
	outer := c.functions
	c.functions = maps.Clone(outer) // functions of a block are local to it
	defer func() { c.functions = outer }()

	for _, st := range s.Body { // functions may be called above their definition
		switch s := st.(type) {
		case *lang.FunctionStmt:
			c.functions[s.Bare()] = true
		case *lang.ClassStmt:
			c.types[words.TypeName(s.Name)] = true
		case *lang.EnumStmt:
			c.types[words.TypeName(s.Name)] = true
		}
	}

	for _, what := range s.Lacking {
		c.lack("%s is %s", what, words.NotHere)
	}

	for _, p := range s.Params {
		for _, what := range p.Lacking {
			c.lack("%s is %s", what, words.NotHere)
		}

		if p.Fallback != nil {
			c.check(p.Fallback)
		}

		for _, one := range p.Conditions {
			for _, x := range one.Args {
				c.check(x)
			}
		}
	}

	c.checkBlock(s.Dynamic)
	c.checkBlock(s.Begin)
	c.checkBlock(s.Process)
	c.checkBlock(s.Body)
}

func (c *checker) checkVariable(x *lang.Variable) {
	if !x.Env {
		c.reads(x.Name)
	}
}

func (c *checker) checkBlockLiteral(x *lang.BlockLiteral) { c.script(x.Script) }

func (c *checker) checkUnary(x *lang.Unary) { c.check(x.X) }

func (c *checker) checkSub(x *lang.SubExpr) { c.checkBlock(x.Body) }

func (c *checker) checkTemplate(x *lang.Template) {
	for _, p := range x.Parts {
		c.check(p)
	}
}

func (c *checker) checkList(x *lang.List) {
	for _, i := range x.Items {
		c.check(i)
	}
}

func (c *checker) checkBinary(x *lang.Binary) {
	c.check(x.A)
	c.check(x.B)
	var err error
	op, _ := operator.CaseOf(x.Op)
	switch text, whole := lang.Beginning(firstOf(x.B)); {
	case !whole:
	case op == "-like", op == "-notlike":
		_, err = pattern.Wildcard(text)
	case op == "-match", op == "-notmatch", op == "-replace", op == "-split":
		_, err = pattern.Compile(text)
	}
	if err != nil {
		c.lack("%v", strings.TrimSuffix(err.Error(), "."))
	}

	if l, ok := x.B.(*lang.List); ok && op == "-split" && len(l.Items) > 2 {
		c.lack("-split with options is not part of Mullion's PowerShell")
	}
}

func (c *checker) checkIndex(x *lang.Index) {
	c.check(x.Of)
	c.check(x.At)
}

func (c *checker) checkMember(x *lang.Member) {
	c.check(x.Of)
	if x.By != nil {
		c.check(x.By)
	}
	for _, a := range x.Args {
		c.check(a)
	}
	if x.Call && x.By == nil && !dotnet.KnownMethod(x.Name, len(x.Args)) {
		c.lack("the method .%s with %d arguments is not part of Mullion's PowerShell", x.Name, len(x.Args))
	}
}

// check goes through an expression or a statement.
func (c *checker) check(x any) { //nolint:funlen,gocyclo // a row for each kind of node
	switch x := x.(type) {
	case *lang.Assign:
		c.checkAssign(x)
	case *lang.AssignSeveral:
		c.checkAssignSeveral(x)
	case *lang.AssignTo:
		c.checkAssignTo(x)
	case *lang.Binary:
		c.checkBinary(x)
	case *lang.BlockLiteral:
		c.checkBlockLiteral(x)
	case *lang.Cast:
		c.checkCast(x)
	case *lang.ClassStmt:
		c.checkClass(x)
	case *lang.DoStmt:
		c.checkDo(x)
	case *lang.ForStmt:
		c.checkFor(x)
	case *lang.ForeachStmt:
		c.checkForeach(x)
	case *lang.FunctionStmt:
		c.checkFunction(x)
	case *lang.HashLiteral:
		c.checkHash(x)
	case *lang.IfStmt:
		c.checkIf(x)
	case *lang.Increment:
		c.checkIncrement(x)
	case *lang.Index:
		c.checkIndex(x)
	case *lang.LateStmt:
		c.checkLateStatement(x)
	case *lang.LateExpr:
		c.checkLate(x)
	case *lang.LeaveStmt:
		c.checkLeave(x)
	case *lang.List:
		c.checkList(x)
	case *lang.Member:
		c.checkMember(x)
	case *lang.Pipeline:
		c.checkPipeline(x)
	case *lang.Static:
		c.checkStatic(x)
	case *lang.StaticOf:
		c.checkStaticOf(x)
	case *lang.SubExpr:
		c.checkSub(x)
	case *lang.SwitchStmt:
		c.checkSwitch(x)
	case *lang.Template:
		c.checkTemplate(x)
	case *lang.TrapStmt:
		c.checkTrap(x)
	case *lang.TryStmt:
		c.checkTry(x)
	case *lang.TypeOperand:
		c.checkTypeOperand(x)
	case *lang.TypeLiteral:
		c.checkTypeValue(x)
	case *lang.TypeTest:
		c.checkTypeTest(x)
	case *lang.Unary:
		c.checkUnary(x)
	case *lang.Variable:
		c.checkVariable(x)
	case *lang.WhileStmt:
		c.checkWhile(x)
	}
}

func (c *checker) checkHash(x *lang.HashLiteral) {
	seen := map[string]bool{}
	for i, k := range x.Keys {
		c.check(k)
		c.check(x.Values[i])
		if l, ok := k.(*lang.Literal); ok {
			if name := object.Canonical(l.V, false); seen[name] {
				c.lack("Duplicate keys '%s' are not allowed in hash literals", object.Text(l.V))
			} else {
				seen[name] = true
			}
		}
	}
}

func (c *checker) checkLate(x *lang.LateExpr) { c.lack("%s is %s", x.What, words.NotHere) }

func (c *checker) checkIncrement(x *lang.Increment) { c.check(x.To) }
