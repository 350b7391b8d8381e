package powershell

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// interpreter is the state of a session.
type interpreter struct {
	ctx      context.Context //nolint:containedctx // a session is one call of Run, and every statement of it ends with that
	session  *Session
	env      map[string]string // by upper-case name
	dir      string
	top      *frame
	format   *formatter
	screen   *sink
	errs     errorStream
	messages map[rune]*sink // where streams of messages go that are redirected
	calls    []*place       // what runs, the outermost first
	ok       bool           // $?
	lastExit value          // $LASTEXITCODE, nil before the first program
	matches  *object        // $Matches, nil before the first
	jobs     []*job
	jobCount int
	places   []string   // of Push-Location, the newest last
	failures *arrayList // $Error, the newest first
	depth    int        // of nested calls
	tries    int        // how many try blocks are running
	caught   []error    // for which catch blocks are running
	closers  []func()
}

// frame is a scope of variables and functions.
type frame struct {
	in        *interpreter
	vars      map[string]value
	types     map[string]string // of variables that have one
	functions map[string]*Script
	parent    *frame
	file      bool    // it is the outermost of a script file or module: $script:x
	module    *module // of a module's, or nil
	strict    *int    // the level of Set-StrictMode here, nil: that of the parent
}

func (f *frame) child() *frame {
	return &frame{
		in: f.in, vars: map[string]value{}, types: map[string]string{}, functions: map[string]*Script{}, parent: f,
	}
}

// function finds a function of this scope or of one around it.
func (f *frame) function(name string) (*Script, bool) {
	for s := f; s != nil; s = s.parent {
		if fn, ok := s.functions[name]; ok {
			return fn, true
		}
	}
	return nil, false
}

// functionNames are the names of the functions that can be called.
func (f *frame) functionNames() map[string]bool {
	names := map[string]bool{}
	for s := f; s != nil; s = s.parent {
		for name := range s.functions {
			names[name] = true
		}
	}
	return names
}

// leaving is the error by which return, throw, exit, break or continue ends what runs.
type leaving struct {
	word      string
	code      int
	what      value
	trace     string // where it was thrown, if that is not in what
	own       bool   // a message of PowerShell's or this package's, not of a script
	statement bool   // it ends one statement, not the script
}

// Error is what a script threw.
func (l *leaving) Error() string {
	if r := own[*record](l.what); r != nil {
		return r.text()
	}
	if l.word == "throw" {
		return text(l.what)
	}
	return l.word
}

func newInterpreter(ctx context.Context, s *Session) *interpreter {
	in := &interpreter{ctx: ctx, session: s, env: map[string]string{}, ok: true, failures: &arrayList{}}
	in.errs.w = s.Stderr
	for _, e := range s.Environ {
		if name, v, ok := strings.Cut(e, "="); ok && name != "" {
			in.env[strings.ToUpper(name)] = v
		}
	}
	in.dir, _ = os.Getwd() // without a current folder, relative paths fail later
	in.top = (&frame{in: in}).child()
	in.top.parent = nil
	in.format = &formatter{w: s.Stdout, newline: s.Newline}
	in.screen = &sink{put: in.format.put, direct: true}
	return in
}

// path resolves a path of the session: relative paths are relative to the session's own folder.
func (in *interpreter) path(p string) string {
	p = filepath.FromSlash(p)
	if filepath.IsAbs(p) || strings.HasPrefix(p, string(filepath.Separator)) {
		return p
	}
	drive := filepath.VolumeName(p) // c: and c:x are relative to the drive's current folder
	rest := p[len(drive):]
	if drive != "" && !strings.EqualFold(drive, filepath.VolumeName(in.dir)) {
		return filepath.Join(drive+string(filepath.Separator), rest)
	}
	return filepath.Join(in.dir, rest)
}

// complain reports a command's error. The script goes on unless $ErrorActionPreference is Stop.
func (f *frame) complain(command string, err error) error {
	return f.complainAs(f.preference("erroractionpreference"), command, err)
}

func (f *frame) complainAs(action, command string, err error) error {
	f.in.ok = false
	r := f.in.recordHere(err)
	r.shown, r.activity = command+" : "+err.Error(), cmp.Or(r.activity, command)
	return f.reported(action, r)
}

// reported does with an error what an action says.
func (f *frame) reported(action string, r *record) error {
	if action != "ignore" && action != "stop" { // what stops is noted where it is caught
		f.in.note(r)
		f.in.errs.keep(r)
	}
	switch action {
	case "stop":
		return &leaving{word: "throw", what: &instance{recordClass(), r}}
	case "silentlycontinue", "ignore":
		return nil
	}
	return f.in.errs.put(r, f.in.session.Newline)
}

// ended is what becomes of a statement's error: one that ends only the statement is printed, unless a try waits for it
// or $ErrorActionPreference is Stop.
func (f *frame) ended(err error) error {
	if err == nil || f.in.tries > 0 || !endsStatement(err) {
		return err
	}
	f.in.ok = false
	r := f.in.recordHere(err)
	action := f.preference("erroractionpreference")
	if action == "stop" {
		f.in.note(r)
	}
	return f.reported(action, r)
}

// deepest is how deep calls may be nested.
const deepest = 1000

// callScript runs a function, a script block or a script file in a scope of its own.
func (in *interpreter) callScript(f *frame, s *Script, args []argument, fed feed, out *sink) error {
	scope := f.child()
	if s.home != nil {
		scope = s.home.child()
	}
	scope.file = s.file != ""
	scope.vars["myinvocation"] = invocation(s)
	return f.within(scope, s, args, fed, out)
}

// within runs a function, a script block or a script file in a scope, which may be that of the caller.
func (f *frame) within(scope *frame, s *Script, args []argument, fed feed, out *sink) error {
	in := f.in
	if in.depth >= deepest {
		return &exception{
			class: depthException, id: "CallDepthOverflow", category: invalidOperating, target: int64(deepest),
			message: "The script failed due to call depth overflow.",
		}
	}
	in.depth++
	defer func() { in.depth-- }()
	if s.file != "" && scope == f {
		defer scope.set(map[string]value{"myinvocation": invocation(s)})()
	}
	if s.file != "" {
		reset := scope.set(map[string]value{"pscommandpath": s.file, "psscriptroot": filepath.Dir(s.file)})
		if scope.module == nil { // a module's functions need them later
			defer reset()
		}
	}
	args, given, err := s.takeCommon(f, args)
	if err != nil {
		return err
	}
	if err := scope.prefer(given); err != nil {
		return err
	}
	open, err := scope.bind(f, s, args, fed.piped)
	if err != nil {
		return err
	}
	k, err := f.keeps(given)
	if err != nil {
		return err
	}
	return f.keeping(k.errors, func() error { return f.runWithin(scope, s, open, fed, k.sink(in, out)) })
}

// runWithin runs a script whose parameters have their values.
func (f *frame) runWithin(scope *frame, s *Script, open []param, fed feed, out *sink) error {
	in := f.in
	defer in.enter(s)()
	err := s.run(scope, open, fed, out)
	if left, ok := errors.AsType[*leaving](err); ok && left.word == "return" {
		err = nil
	}
	if err == nil {
		in.ok = true // a failure inside is not the call's failure
	}
	in.mark(err)
	return err
}

// set sets variables, and returns a function that sets them as they were before.
func (f *frame) set(vars map[string]value) (reset func()) {
	before := maps.Clone(f.vars)
	maps.Copy(f.vars, vars)
	return func() {
		for name := range vars {
			if v, had := before[name]; had {
				f.vars[name] = v
			} else {
				delete(f.vars, name)
			}
		}
	}
}

// capture returns the output of statements; ranges says that a range of numbers may stay a span.
func capture(b block, f *frame, ranges bool) ([]value, error) {
	got := []value{}
	err := b.run(f, &sink{ranges: ranges, put: func(v value) error {
		got = append(got, v)
		return nil
	}})
	return got, err
}

// captureOne returns the output of a statement that is a part of another.
func captureOne(s stmt, f *frame, ranges bool) ([]value, error) {
	got := []value{}
	err := s.run(f, &sink{ranges: ranges, put: func(v value) error {
		got = append(got, v)
		return nil
	}})
	return got, err
}

// setting runs a statement if it is an assignment, and returns the value that it set.
func setting(s stmt, f *frame) (v value, is bool, err error) {
	switch a := s.(type) {
	case *assign:
		err = a.run(f, nil)
		return f.variable(a.to), true, err
	case *assignSeveral:
		if err := a.run(f, nil); err != nil {
			return nil, true, err
		}
		values := make([]value, len(a.to))
		for i, to := range a.to {
			v, err := to.value(f)
			if err != nil {
				return nil, true, err
			}
			values[i] = v
		}
		return values, true, nil
	case *assignTo:
		if err := a.run(f, nil); err != nil {
			return nil, true, err
		}
		v, err = a.to.value(f)
		return plain(v), true, err
	}
	return nil, false, nil
}

// assigned is the value of an assignment: that of an expression, or the output of statements.
func (s *assign) assigned(f *frame) (value, error) {
	if v, is, err := setting(s.x, f); is || err != nil {
		return v, err
	}
	if l, ok := s.x.(*pipeline); ok && len(l.stages) == 1 && l.stages[0].x != nil && l.stages[0].file == nil {
		v, err := l.stages[0].x.value(f)
		f.in.ok = true
		return plain(v), err
	}
	got, err := captureOne(s.x, f, false)
	return one(got), err
}

func (s *assign) run(f *frame, _ *sink) error {
	f.in.at(s.line)
	v, err := s.assigned(f)
	if err != nil {
		return err
	}
	if s.op != "=" {
		if v, err = arithmetic(s.op[:1], f.variable(s.to), v); err != nil {
			return err
		}
	}
	if s.as != "" {
		f.scope(s.to.scope).types[s.to.name] = s.as
	}
	return f.assign(s.to, v)
}

func (s *ifStmt) run(f *frame, out *sink) error {
	for i, c := range s.conds {
		v, err := c.value(f)
		if err != nil {
			return err
		}
		if truth(v) {
			return s.blocks[i].run(f, out)
		}
	}
	return s.other.run(f, out)
}

// loop runs a body once and reports whether the loop goes on.
func loop(f *frame, body block, out *sink) (bool, error) {
	if err := f.in.ctx.Err(); err != nil {
		return false, err
	}
	err := body.run(f, out)
	if left, ok := errors.AsType[*leaving](err); ok {
		switch left.word {
		case "break":
			return false, nil
		case "continue":
			return true, nil
		}
	}
	return err == nil, err
}

// again is a caught error that is thrown once more: now it ends the script.
func again(err error) error {
	return &leaving{word: "throw", what: &instance{recordClass(), recordOf(err)}}
}

func (s *doStmt) run(f *frame, out *sink) error {
	for {
		if again, err := loop(f, s.body, out); err != nil || !again {
			return err
		}
		v, err := s.cond.value(f)
		if err != nil || truth(v) == s.until {
			return err
		}
	}
}

func (s *forStmt) run(f *frame, out *sink) error {
	nowhere := &sink{put: func(value) error { return nil }}
	if s.first != nil {
		if err := s.first.run(f, nowhere); err != nil {
			return err
		}
	}
	for {
		if s.cond != nil {
			if v, err := s.cond.value(f); err != nil || !truth(v) {
				return err
			}
		}
		if again, err := loop(f, s.body, out); err != nil || !again {
			return err
		}
		if s.step != nil {
			if err := s.step.run(f, nowhere); err != nil {
				return err
			}
		}
	}
}

func (s *whileStmt) run(f *frame, out *sink) error {
	for {
		v, err := s.cond.value(f)
		if err != nil || !truth(v) {
			return err
		}
		if again, err := loop(f, s.body, out); err != nil || !again {
			return err
		}
	}
}

func (s *foreachStmt) run(f *frame, out *sink) error {
	v, err := s.in.value(f)
	if err != nil {
		return err
	}
	for item := range each(v) {
		f.vars[s.name] = item
		if again, err := loop(f, s.body, out); err != nil || !again {
			return err
		}
	}
	return nil
}

func (s *functionStmt) run(f *frame, _ *sink) error {
	script := *s.script
	script.home = f.moduleFrame()
	scope, _, _ := strings.Cut(s.name, ":")
	functions := f.scope(scope).functions
	functions[s.bare()] = &script
	for _, name := range script.aliases {
		functions[name] = &script
	}
	return nil
}

func (s *leave) run(f *frame, out *sink) error {
	f.in.at(s.line)
	l := &leaving{word: s.word}
	if s.x == nil {
		if n := len(f.in.caught); s.word == "throw" && n > 0 {
			return again(f.in.caught[n-1])
		}
		if s.word == "throw" {
			l.what = "ScriptHalted"
		}
		return l
	}
	if s.word == "return" {
		if err := s.x.run(f, out); err != nil {
			return err
		}
		return l
	}
	got, err := captureOne(s.x, f, false)
	if err != nil {
		return err
	}
	l.what = one(got)
	if s.word == "exit" {
		n, err := integer(l.what)
		if err != nil {
			return fatal("%v", err)
		}
		l.code = int(n)
	}
	return l
}
