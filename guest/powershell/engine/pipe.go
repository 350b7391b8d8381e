package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// runPipeline passes the output of each command to the next: at once to a command that streams, otherwise when the
// first is done.
func (f *frame) runPipeline(s *lang.Pipeline, out *object.Sink) error {
	f.in.at(s.Stages[0].At)
	failed := false
	head, finish, err := f.feed(s, 1, out, &failed)
	if err != nil {
		return err
	}
	if err := f.step(f.Session.Meant(s.Stages[0]), nil, false, head, &failed); err != nil && !isEnough(err, &failed) {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	f.in.OK = !failed
	return nil
}

// feed returns the sink of stage n, and the function to call when all its input is in the sink.
func (f *frame) feed(s *lang.Pipeline, n int, out *object.Sink, failed *bool) (*object.Sink, func() error, error) {
	if n == len(s.Stages) {
		return out, func() error { return nil }, nil
	}
	next, finish, err := f.feed(s, n+1, out, failed)
	if err != nil {
		return nil, nil, err
	}
	st := f.Session.Meant(s.Stages[n])
	c, err := f.streaming(st, next)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		begun := false
		begin := func() error {
			if begun {
				return nil
			}
			begun = true
			return runHook(c, c.Begin)
		}
		put := func(v object.Value) error {
			f.in.OK = true
			if err := begin(); err != nil {
				return err
			}
			err := runCall(c, []object.Value{v})
			*failed = *failed || !f.in.OK
			return err
		}

		return &object.Sink{Put: put}, func() error {
			if err := errors.Join(begin(), runHook(c, c.End)); err != nil && !isEnough(err, failed) {
				return err
			}
			return finish()
		}, nil
	}

	var got []object.Value
	if most, ok := f.enough(st); ok {
		return upTo(most, &got, failed), func() error {
			if err := f.step(st, got, true, next, failed); err != nil && !isEnough(err, failed) {
				return err
			}
			return finish()
		}, nil
	}

	return object.Collect(&got), func() error {
		if err := f.step(st, got, true, next, failed); err != nil && !isEnough(err, failed) {
			return err
		}
		return finish()
	}, nil
}

// enough returns after how many objects a stage needs no more, as Select-Object -First says.
func (f *frame) enough(s lang.Stage) (most int, ok bool) {
	if _, shadowed := f.script(s.Word); shadowed || s.Word == "" || binding.Splats(s.Args) {
		return 0, false
	}
	cmd, found := f.Session.Cmdlets.Lookup(strings.ToLower(s.Word))
	if !found || cmd.Enough == nil {
		return 0, false
	}
	b, err := binding.Bind(cmd, s.Args)
	if err != nil {
		return 0, false
	}
	given := map[string]object.Value{}
	for name, xs := range b {
		given[name] = nil
		switch x := xs[0].(type) { // what has no effect when it is computed once more
		case *lang.Literal, *lang.Variable:
			if given[name], err = f.value(x); err != nil {
				return 0, false
			}
		}
	}

	return cmd.Enough(given)
}

// upTo takes objects until there are enough: then it ends what is before it in the pipeline, for which a pointer
// stands.
func upTo(most int, got *[]object.Value, pipeline *bool) *object.Sink {
	return &object.Sink{Put: func(v object.Value) error {
		*got = append(*got, v)
		if len(*got) >= most {
			return &object.Leaving{Word: "enough", What: pipeline}
		}
		return nil
	}}
}

// isEnough reports whether an error only says that a stage of a pipeline has enough.
func isEnough(err error, pipeline *bool) bool {
	left, ok := errors.AsType[*object.Leaving](err)
	return ok && left.Word == "enough" && left.What == object.Value(pipeline)
}

// streaming returns the call of a stage that takes objects one by one, nil for other stages.
func (f *frame) streaming(s lang.Stage, out *object.Sink) (*cmdlet.Call, error) {
	if s.Word == "" || s.File != nil || s.Errors != "" || len(s.Others) > 0 || binding.Splats(s.Args) {
		return nil, nil
	}
	if _, shadowed := f.script(s.Word); shadowed {
		return nil, nil
	}
	cmd, ok := f.Session.Cmdlets.Lookup(strings.ToLower(s.Word))
	if !ok || !cmd.Stream {
		return nil, nil
	}
	return f.prepare(cmd, s, true, out)
}

// step runs a stage and notes whether it failed.
func (f *frame) step(s lang.Stage, input []object.Value, piped bool, out *object.Sink, failed *bool) error {
	if s.X == nil {
		f.in.OK = true
	}
	f.in.at(s.At)
	err := f.runStage(s, input, piped, out)
	if s.X != nil { // an expression may read $?, so it is set only afterwards
		f.in.OK = true
	}

	*failed = *failed || !f.in.OK
	return err
}

func (f *frame) runStage(s lang.Stage, input []object.Value, piped bool, out *object.Sink) error {
	if s.File == nil {
		return f.redirected(s, input, piped, out)
	}
	var got []object.Value
	if err := f.redirected(s, input, piped, object.Collect(&got)); err != nil {
		return err
	}
	return f.writeOutput(s.File, s.Append, got)
}

// doStage runs an expression, a cmdlet, a function, a script block, a script file or a program.
func (f *frame) doStage(s lang.Stage, input []object.Value, piped bool, out *object.Sink) error {
	if s.X != nil {
		return f.output(s, out)
	}
	name, err := f.value(s.Name)
	if err != nil {
		return err
	}
	if s.Args, err = spread(f, s.Args); err != nil {
		return err
	}
	word := object.Text(name)
	script, isScript := f.script(name)
	cmd, isCmdlet := f.Session.Cmdlets.Lookup(strings.ToLower(word))
	isFile := strings.HasSuffix(strings.ToLower(word), ".ps1")
	if to, changes := atPlace(word); changes && !isScript && len(s.Args) == 0 {
		s = placed(s, to)
		cmd, isCmdlet = f.Session.Cmdlets.Lookup("set-location")
	}
	if s.Here {
		return f.runHere(s, name, isFile && !isScript && !isCmdlet, out)
	}
	switch {
	case isScript:
		return f.in.callScript(f, script, s.Args, Feed{input, piped}, out)
	case isCmdlet:
		return f.runCmdlet(s, cmd, input, piped, out)
	case isFile:
		return f.runFileStage(s, word, Feed{input, piped}, out)
	}

	return f.runProgram(s, word, input, piped, out)
}

// script returns what a block, or the name of a function, runs.
func (f *frame) script(name object.Value) (*lang.Script, bool) {
	if block, ok := name.(*object.ScriptBlock); ok {
		return lang.ScriptOf(block), true
	}
	word := strings.ToLower(object.Text(name))
	fn, ok := f.Function(word)
	if ok && f.aliased(word, fn) {
		return nil, false
	}
	return fn, ok
}

// aliased reports whether a word means an alias of PowerShell's own, though there is a function of this name: aliases
// go first (about_Command_Precedence). A function's own alias replaces it.
func (f *frame) aliased(word string, fn *lang.Script) bool {
	return strings.EqualFold(fn.Name, word) && (f.Session.Cmdlets.Alias(word) || absent.Alias(word))
}

// runHere runs a block or a script file in this scope: its variables and functions stay.
func (f *frame) runHere(s lang.Stage, name object.Value, isFile bool, out *object.Sink) error {
	var script *lang.Script
	switch block, isBlock := name.(*object.ScriptBlock); {
	case isBlock:
		script = lang.ScriptOf(block)
	case isFile:
		var err error
		if script, err = f.in.readFile(object.Text(name)); err != nil {
			return late(err)
		}
	default:
		return object.Thrown("Running %s in this scope with . is not part of Mullion's PowerShell.", object.Text(name))
	}

	return f.within(f, script, f.in.invoked(script), s.Args, Feed{}, out)
}

// late returns an error as it is thrown while a script runs, for a script file that is refused then.
func late(err error) error {
	if refused, ok := errors.AsType[*lang.Refusal](err); ok {
		return refused.Thrown()
	}
	return err
}

// spread puts the parameters of @name in its place: of a hash table named ones, of a list others.
func spread(f *frame, args []lang.Argument) ([]lang.Argument, error) {
	if !binding.Splats(args) {
		return args, nil
	}
	var out []lang.Argument
	for _, a := range args {
		if !a.Splat {
			out = append(out, a)
			continue
		}
		v, err := f.value(a.X)
		if err != nil {
			return nil, err
		}
		t, named := v.(*object.Hashtable)
		if !named {
			for item := range object.Each(v) {
				out = append(out, lang.Argument{X: &lang.Literal{V: item}})
			}
			continue
		}
		for _, k := range t.Keys {
			name := object.Text(k)
			out = append(out, lang.Argument{
				Param: strings.ToLower(name),
				X:     &lang.Literal{V: t.Get(k)},
				Text: "-" +
					name + ":",
			})
		}
	}

	return out, nil
}

// output outputs the value of an expression, a list item by item.
func (f *frame) output(s lang.Stage, out *object.Sink) error {
	v, err := f.value(s.X)
	if err != nil {
		return err
	}
	if _, counts := s.X.(*lang.Increment); counts {
		return nil
	}
	if r, ok := v.(object.Range); ok && out.Ranges {
		return out.Put(r)
	}
	for item := range object.Each(object.Plain(v)) {
		if err := f.in.step(); err != nil {
			return err
		}
		if err := out.Put(item); err != nil {
			return err
		}
	}

	return nil
}

func (f *frame) runCmdlet(s lang.Stage, cmd cmdlet.Cmdlet, input []object.Value, piped bool, out *object.Sink) error {
	c, err := f.prepare(cmd, s, piped, out)
	if err != nil {
		return err
	}
	if cmd.Stream && piped { // with a redirection
		return runEach(c, input)
	}

	if err := runHook(c, cmd.Begin); err != nil {
		return err
	}
	if err := runCall(c, input); err != nil {
		return err
	}
	return runHook(c, cmd.End)
}

// runEach runs a cmdlet once for each object.
func runEach(c *cmdlet.Call, input []object.Value) error {
	if err := runHook(c, c.Begin); err != nil {
		return err
	}
	for _, v := range input {
		if err := runCall(c, []object.Value{v}); err != nil {
			return err
		}
	}

	return runHook(c, c.End)
}

// runHook runs what a cmdlet does before or after the objects of the pipeline, if anything.
func runHook(c *cmdlet.Call, do func(*cmdlet.Call) error) error {
	if do == nil {
		return nil
	}
	c.Input = nil
	return frameOf(c).keeping(c.Kept.Errors, func() error { return blamed(c, do(c)) })
}

// runFileStage runs a script file as a command: its exit ends the file only.
func (f *frame) runFileStage(s lang.Stage, word string, fed Feed, out *object.Sink) error {
	args, err := f.programWords(s)
	if err != nil {
		return err
	}
	err = late(f.in.RunFile(f, word, args, fed, out))
	if left, ok := errors.AsType[*object.Leaving](err); ok && left.Word == "exit" {
		f.in.lastExit, f.in.OK = int64(left.Code), left.Code == 0
		return nil
	}
	return err
}

// programWords returns a program's arguments.
func (f *frame) programWords(s lang.Stage) ([]string, error) {
	var words []string
	for _, a := range s.Args {
		if a.Verbatim {
			words = append(words, binding.VerbatimWords(f.in.expand(object.Text(a.X.(*lang.Literal).V)))...)
			continue
		}
		if a.Param != "" {
			word := a.Text
			if a.X != nil {
				v, err := f.value(a.X)
				if err != nil {
					return nil, err
				}
				word += object.Text(v)
			}
			words = append(words, word)
			continue
		}
		v, err := f.value(a.X)
		if err != nil {
			return nil, err
		}
		for item := range object.Each(v) {
			if word := object.Text(item); word != "" { // an empty word is left out, as PowerShell before 7.3 does
				words = append(words, word)
			}
		}
	}

	return words, nil
}

// expand replaces %NAME% by variables of the environment.
func (in *Interpreter) expand(s string) string {
	return percentName.ReplaceAllStringFunc(s, func(name string) string {
		if v, ok := in.Env[strings.ToUpper(strings.Trim(name, "%"))]; ok {
			return v
		}
		return name
	})
}

var percentName = lazyregexp.New(`%[^%\s]+%`)

// runProgram runs a native program; each line of its output is an object.
func (f *frame) runProgram(s lang.Stage, word string, input []object.Value, piped bool, out *object.Sink) error {
	in := f.in
	words, err := f.programWords(s)
	if err != nil {
		return err
	}
	path, err := in.Find(word)
	if err != nil {
		return noCommand(word, s.NameAt)
	}
	ctx, cancel := context.WithCancel(in.Context)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words...)
	cmd.Dir, cmd.Env = in.Dir, in.Environ()
	cmd.Stdin = in.Stdin
	if piped {
		given, err := format.Formatted(input, in.Newline)
		if err != nil {
			return err
		}
		cmd.Stdin = strings.NewReader(given)
	}

	lines := f.connect(cmd, out, cancel)
	err = cmd.Run()
	for _, w := range lines {
		if w.end(); w.err != nil {
			return w.err
		}
	}

	code := cmd.ProcessState.ExitCode()
	in.lastExit = int64(int32(code)) // Windows' codes have 32 bits, and a sign in PowerShell
	in.OK = err == nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		by := &object.Invoked{Name: word, At: s.At}
		return f.complain(f.Preference("erroractionpreference"), by, err)
	}
	return nil
}

// connect connects a program's output and errors with where they go, and returns those that take them line by line.
func (f *frame) connect(cmd *exec.Cmd, out *object.Sink, stop func()) []*lineWriter {
	in := f.in
	one := &sync.Mutex{}
	lines := &lineWriter{
		put:  out.Put,
		stop: stop,
		one:  one,
	}
	cmd.Stdout, cmd.Stderr = lines, lines
	if out.Direct {
		in.Format.End()
		cmd.Stdout = in.Stdout
	}
	goesOn := f.Preference("erroractionpreference") == "continue"
	switch merged := in.errs.merged; {
	case merged == nil && in.errs.w == io.Discard:
		cmd.Stderr = nil
	case merged == nil:
		cmd.Stderr = in.errs.w
	case goesOn && merged.Direct:
		in.Format.End()
		cmd.Stderr = in.Stdout
	case goesOn && merged == out: // both in one, in order
	default:
		errorLines := &lineWriter{
			put:  f.errorLine,
			stop: stop,
			one:  one,
		}
		cmd.Stderr = errorLines
		return []*lineWriter{lines, errorLines}
	}

	return []*lineWriter{lines}
}

// errorLine takes a line that a program writes as an error, where errors are a part of the output. It is text among
// that, or an error if the script does not go on at errors.
func (f *frame) errorLine(line object.Value) error {
	action := f.Preference("erroractionpreference")
	if action == "continue" {
		return f.in.errs.merged.Put(line)
	}
	r := f.in.recordHere(object.Raise(object.RemoteException, object.Text(line)))
	r.Target = line
	return f.reported(action, r)
}

// lineWriter passes each line that a program writes to the pipeline. If the pipeline returns an error, the program is
// ended.
type lineWriter struct {
	rest []byte
	put  func(object.Value) error
	stop func()
	err  error
	one  *sync.Mutex // held while it writes: the pipeline takes one line at a time
}

// Write takes a part of the output.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.one.Lock()
	defer w.one.Unlock()
	w.rest = append(w.rest, p...)
	for w.err == nil {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.rest = rest
		w.err = w.put(strings.TrimRight(string(line), "\r"))
	}

	w.stop()
	return 0, w.err
}

// end passes on the last line if it has no newline.
func (w *lineWriter) end() {
	if len(w.rest) > 0 && w.err == nil {
		w.err = w.put(strings.TrimRight(string(w.rest), "\r"))
	}
	w.rest = nil
}
