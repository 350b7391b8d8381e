package engine

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/scope"
	"mullion.dev/mullion/guest/powershell/session"
)

func (f *frame) runBlock(b lang.Block, out *object.Sink) error {
	if err := f.defineTypes(b); err != nil {
		return err
	}
	if traps := traps(b); traps != nil {
		for _, s := range b {
			if err := f.trapped(s, traps, out); err != nil {
				return err
			}
		}
		return nil
	}

	for _, s := range b {
		if err := f.ended(f.run(s, out)); err != nil {
			return err
		}
	}

	return nil
}

// Interpreter is the state of a session.
type Interpreter struct {
	*session.State
	Top      *frame
	Format   *format.Formatter
	Screen   *object.Sink
	errs     errorStream
	messages map[rune]*object.Sink // where streams of messages go that are redirected
	calls    []*place              // what runs, the outermost first
	OK       bool                  // $?
	lastExit object.Value          // $LASTEXITCODE, nil before the first program
	matches  *object.Hashtable     // $Matches, nil before the first
	failures *object.ArrayList     // $Error, the newest first
	depth    int                   // of nested calls
	levels   int                   // of expressions that are being computed
	tries    int                   // how many try blocks are running
	caught   []error               // for which catch blocks are running
	classes  map[*object.Class]*scriptClass
	defaults *object.Hashtable // $PSDefaultParameterValues
	host     *object.Object    // $Host, nil before it is asked for
	calling  *frame            // what calls a method, nil before the first
	modules  []*object.Object  // that are imported
	nested   int               // modules that are being loaded
	acting   bool              // the action of an event runs
}

// frame is where statements run: an interpreter, and the scope whose names they see.
type frame struct {
	*scope.Scope
	in *Interpreter
}

// frame returns where statements run that see the names of a scope.
func (in *Interpreter) frame(s *scope.Scope) *frame { return &frame{s, in} }

// child returns a frame with a scope within this one's.
func (f *frame) child() *frame { return f.in.frame(f.Child()) }

// New returns an interpreter with a state and the cmdlets of a table.
func New(s *session.State, table cmdlet.Table) *Interpreter {
	in := &Interpreter{
		State: s, OK: true, failures: &object.ArrayList{}, defaults: object.NewTable(false),
	}
	in.errs.w = s.Stderr
	in.Top = in.frame(scope.New(names{in}, table))
	in.Format = &format.Formatter{
		W:       s.Shown(s.Stdout),
		Newline: s.Newline,
		Columns: s.Columns,
	}
	in.Screen = &object.Sink{Put: in.Format.Put, Direct: true}

	s.Read = func(text string) (any, error) {
		script, err := lang.Parse(text, "", dotnet.KnownType)
		if err != nil {
			return nil, late(err)
		}
		return script.Block(), nil
	}

	s.Invoke = func(block any, args []any) (any, error) {
		b, ok := block.(*object.ScriptBlock)
		if !ok {
			return nil, object.CannotConvert(block, "System.Management.Automation.ScriptBlock")
		}
		var got []object.Value
		err := in.within().RunWith(b, args, nil, false, object.Collect(&got))
		return object.One(got), err
	}

	s.Pulse = in.pulse
	s.Closure = in.closure
	s.Settle = in.Format.End
	return in
}

// within returns the scope that calls a method now.
func (in *Interpreter) within() *frame {
	if in.calling == nil {
		return in.Top
	}
	return in.calling
}

// calls says that this scope calls a method, until the function that it returns is called.
func (f *frame) calls() (done func()) {
	before := f.in.calling
	f.in.calling = f
	return func() { f.in.calling = before }
}

// deepest is how deep calls may be nested, and mostLevels how deep what they compute is nested in all of them together.
const (
	deepest    = 1000
	mostLevels = 100_000
)

// tooDeep returns the error of calls that are nested too deep.
func tooDeep() error {
	return &object.Exception{
		Class:    object.DepthException,
		ID:       "CallDepthOverflow",
		Category: object.InvalidOperating,
		Target:   int64(deepest),
		Message:  "The script failed due to call depth overflow.",
	}
}

// step counts a statement, or an object that is output. When all that the session may run are used up, or it is ended,
// nothing runs any more.
func (in *Interpreter) step() error {
	if in.Steps > 0 {
		if in.Steps--; in.Steps == 0 {
			in.Steps = -1
		}
	}

	if in.Steps < 0 {
		return context.Canceled
	}
	if in.Rang() {
		in.pulse()
	}
	return in.Context.Err()
}

// callScript runs a function, a script block or a script file in a scope of its own.
func (in *Interpreter) callScript(f *frame, s *lang.Script, args []lang.Argument, fed Feed, out *object.Sink) error {
	to := f.child()
	if home, ok := s.Home.(*scope.Scope); ok {
		to = in.frame(home.Child())
	}
	to.File = s.File != ""
	by := in.invoked(s)
	to.Vars["myinvocation"] = by.Value()
	return f.within(to, s, by, args, fed, out)
}

// descend enters a call, and refuses one that is nested too deep. The function that it returns leaves it.
func (in *Interpreter) descend() (rise func(), err error) {
	if in.depth >= deepest {
		return nil, tooDeep()
	}
	in.depth++
	return func() { in.depth-- }, nil
}

// within runs a function, a script block or a script file in a scope, which may be that of the caller.
//
//nolint:revive // All that a call has comes together here.
func (f *frame) within(
	scope *frame, s *lang.Script, by *object.Invoked, args []lang.Argument, fed Feed, out *object.Sink,
) error {
	in := f.in
	rise, err := in.descend()
	if err != nil {
		return err
	}
	defer rise()
	if s.File != "" && scope == f {
		defer scope.set(map[string]object.Value{"myinvocation": by.Value()})()
	}
	if s.File != "" {
		reset := scope.set(map[string]object.Value{"pscommandpath": s.File, "psscriptroot": filepath.Dir(s.File)})
		if scope.Module == nil { // a module's functions need them later
			defer reset()
		}
	}

	s, settled, err := f.withDynamic(scope, s, args)
	if err != nil {
		return err
	}
	args, given, err := f.takeCommon(s, args)
	if err != nil {
		return err
	}
	if err := scope.prefer(given); err != nil {
		return err
	}
	open, err := scope.bind(f, s, args, fed.piped)
	if err != nil {
		return misfit(err, by)
	}
	settled()
	k, err := f.keeps(given)
	if err != nil {
		return err
	}
	return f.keeping(k.Errors, func() error { return f.runWithin(scope, s, open, fed, keptSink(k, in, out)) })
}

// runWithin runs a script whose parameters have their values.
func (f *frame) runWithin(scope *frame, s *lang.Script, open []lang.Param, fed Feed, out *object.Sink) error {
	in := f.in
	defer in.Enter(s)()
	err := scope.RunScript(s, open, fed, out.Apart())
	if left, ok := errors.AsType[*object.Leaving](err); ok {
		if left.Word == "return" {
			err = nil
		}
		left.Statement = left.Statement || left.Function
	}

	if err == nil {
		in.OK = true // a failure inside is not the call's failure
	}
	in.mark(err)
	return err
}

// set sets variables, and returns a function that sets them as they were before.
func (f *frame) set(vars map[string]object.Value) (reset func()) {
	before := maps.Clone(f.Vars)
	maps.Copy(f.Vars, vars)
	return func() {
		for name := range vars {
			if v, had := before[name]; had {
				f.Vars[name] = v
			} else {
				delete(f.Vars, name)
			}
		}
	}
}

// capture returns the output of statements; ranges says that a range of numbers may stay a span.
func capture(b lang.Block, f *frame, ranges bool) ([]object.Value, error) {
	got := []object.Value{}
	err := f.runBlock(b, &object.Sink{
		Ranges: ranges,
		Put: func(v object.Value) error {
			got = append(got, v)
			return nil
		},
	})
	return got, err
}

// captureOne returns the output of a statement that is a part of another.
func captureOne(s lang.Stmt, f *frame, ranges bool) ([]object.Value, error) {
	got := []object.Value{}
	err := f.run(s, &object.Sink{
		Ranges: ranges,
		Put: func(v object.Value) error {
			got = append(got, v)
			return nil
		},
	})
	return got, err
}

// setting runs a statement if it is an assignment, and returns the value that it set.
func setting(s lang.Stmt, f *frame) (v object.Value, is bool, err error) {
	switch a := s.(type) {
	case *lang.Assign:
		err = f.runAssign(a, nil)
		return f.variable(a.To), true, err
	case *lang.AssignSeveral:
		if err := f.runAssignSeveral(a, nil); err != nil {
			return nil, true, err
		}
		values := make([]object.Value, len(a.To))
		for i, to := range a.To {
			v, err := f.value(to)
			if err != nil {
				return nil, true, err
			}
			values[i] = v
		}
		return values, true, nil
	case *lang.AssignTo:
		if err := f.runAssignTo(a, nil); err != nil {
			return nil, true, err
		}
		v, err = f.value(a.To)
		return object.Plain(v), true, err
	}

	return nil, false, nil
}

// assigned returns the value of an assignment: that of an expression, or the output of statements.
func (f *frame) assigned(s *lang.Assign) (object.Value, error) {
	if v, is, err := setting(s.X, f); is || err != nil {
		return v, err
	}
	if l, ok := s.X.(*lang.Pipeline); ok && len(l.Stages) == 1 && l.Stages[0].X != nil && l.Stages[0].File == nil {
		v, err := f.value(l.Stages[0].X)
		f.in.OK = true
		if err != nil {
			return nil, err
		}
		return object.Listed(object.Plain(v))
	}

	got, err := captureOne(s.X, f, false)
	return object.One(got), err
}

func (f *frame) runAssign(s *lang.Assign, _ *object.Sink) error {
	f.in.at(s.At)
	v, err := f.assigned(s)
	if err != nil {
		return err
	}
	if s.Op != "=" {
		if v, err = operator.Arithmetic(s.Op[:1], f.variable(s.To), v); err != nil {
			return err
		}
	}

	if s.As != "" {
		f.Named(s.To.Scope).Types[s.To.Name] = s.As
	}
	return f.Assign(s.To, v)
}

func (f *frame) runIf(s *lang.IfStmt, out *object.Sink) error {
	for i, c := range s.Conds {
		v, err := f.value(c)
		if err != nil {
			return err
		}
		if object.Truth(v) {
			return f.runBlock(s.Blocks[i], out)
		}
	}

	return f.runBlock(s.Other, out)
}

// loop runs a body once and reports whether the loop goes on.
func loop(f *frame, label lang.Label, body lang.Block, out *object.Sink) (bool, error) {
	if err := f.in.step(); err != nil {
		return false, err
	}
	err := f.runBlock(body, out)
	if left, ok := errors.AsType[*object.Leaving](err); ok && left.For(string(label)) {
		switch left.Word {
		case "break":
			return false, nil
		case "continue":
			return true, nil
		}
	}

	return err == nil, err
}

// again returns an error that throws a caught one once more: now it ends the script.
func again(err error) error {
	return &object.Leaving{Word: "throw", What: &object.Instance{Of: object.RecordClass(), V: object.RecordOf(err)}}
}

func (f *frame) runDo(s *lang.DoStmt, out *object.Sink) error {
	for {
		if again, err := loop(f, s.Label, s.Body, out); err != nil || !again {
			return err
		}
		v, err := f.value(s.Cond)
		if err != nil || object.Truth(v) == s.Until {
			return err
		}
	}
}

func (f *frame) runFor(s *lang.ForStmt, out *object.Sink) error {
	nowhere := &object.Sink{Put: func(object.Value) error { return nil }}
	if s.First != nil {
		if err := f.run(s.First, nowhere); err != nil {
			return err
		}
	}

	for {
		if s.Cond != nil {
			if v, err := f.value(s.Cond); err != nil || !object.Truth(v) {
				return err
			}
		}
		if again, err := loop(f, s.Label, s.Body, out); err != nil || !again {
			return err
		}
		if s.Step != nil {
			if err := f.run(s.Step, nowhere); err != nil {
				return err
			}
		}
	}
}

func (f *frame) runWhile(s *lang.WhileStmt, out *object.Sink) error {
	for {
		v, err := f.value(s.Cond)
		if err != nil || !object.Truth(v) {
			return err
		}
		if again, err := loop(f, s.Label, s.Body, out); err != nil || !again {
			return err
		}
	}
}

func (f *frame) runForeach(s *lang.ForeachStmt, out *object.Sink) error {
	v, err := f.value(s.In)
	if err != nil {
		return err
	}
	for item := range object.Each(v) {
		f.Vars[s.Name] = item
		if again, err := loop(f, s.Label, s.Body, out); err != nil || !again {
			return err
		}
	}

	return nil
}

func (f *frame) runFunction(s *lang.FunctionStmt, _ *object.Sink) error {
	script := *s.Script
	if home := f.OfModule(); home != nil {
		script.Home = home
	}
	named, _, _ := strings.Cut(s.Name, ":")
	functions := f.Named(named).Functions
	functions[s.Bare()] = &script
	for _, name := range script.Aliases {
		functions[name] = &script
	}
	return nil
}

func (f *frame) runLeave(s *lang.LeaveStmt, out *object.Sink) error {
	f.in.at(s.At)
	l := &object.Leaving{Word: s.Word}
	if s.To != nil {
		v, err := f.value(s.To)
		if err != nil {
			return err
		}
		l.Label = object.Text(v)
	}

	if s.X == nil {
		if n := len(f.in.caught); s.Word == "throw" && n > 0 {
			return again(f.in.caught[n-1])
		}
		if s.Word == "throw" {
			l.What = "ScriptHalted"
		}
		return l
	}

	if s.Word == "return" {
		if out.Returns != nil {
			out = out.Returns
		}
		if err := f.run(s.X, out); err != nil {
			return err
		}
		return l
	}

	got, err := captureOne(s.X, f, false)
	if err != nil {
		return err
	}
	l.What = object.One(got)
	if s.Word == "exit" {
		n, err := object.Integer(l.What)
		if err != nil {
			return object.Fatal("%v", err)
		}
		l.Code = int(n)
	}

	return l
}
