package powershell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// run passes the output of each command to the next: at once to a command that streams, otherwise when the first is
// done.
func (s *pipeline) run(f *frame, out *sink) error {
	f.in.at(s.stages[0].line)
	failed := false
	head, finish, err := s.feed(f, 1, out, &failed)
	if err != nil {
		return err
	}
	if err := s.stages[0].step(f, nil, false, head, &failed); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	f.in.ok = !failed
	return nil
}

// feed returns the sink of stage n, and the function to call when all its input is in the sink.
func (s *pipeline) feed(f *frame, n int, out *sink, failed *bool) (*sink, func() error, error) {
	if n == len(s.stages) {
		return out, func() error { return nil }, nil
	}
	next, finish, err := s.feed(f, n+1, out, failed)
	if err != nil {
		return nil, nil, err
	}
	st := s.stages[n]
	c, err := st.streaming(f, next)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		return &sink{put: func(v value) error {
			f.in.ok = true
			err := c.do([]value{v})
			*failed = *failed || !f.in.ok
			return err
		}}, finish, nil
	}
	var got []value
	return collect(&got), func() error {
		if err := st.step(f, got, true, next, failed); err != nil {
			return err
		}
		return finish()
	}, nil
}

// collect is a sink that appends its objects to got.
func collect(got *[]value) *sink {
	return &sink{put: func(v value) error {
		*got = append(*got, v)
		return nil
	}}
}

// streaming returns the call of a stage that takes objects one by one, nil for other stages.
func (s stage) streaming(f *frame, out *sink) (*call, error) {
	if s.word == "" || s.file != nil || s.errors != "" || len(s.others) > 0 || splats(s.args) {
		return nil, nil
	}
	if _, shadowed := f.function(lower(s.word)); shadowed {
		return nil, nil
	}
	cmd, ok := lookup(lower(s.word))
	if !ok || !cmd.stream {
		return nil, nil
	}
	return cmd.prepare(f, s.args, true, out)
}

// step runs a stage and notes whether it failed.
func (s stage) step(f *frame, input []value, piped bool, out *sink, failed *bool) error {
	if s.x == nil {
		f.in.ok = true
	}
	err := s.run(f, input, piped, out)
	if s.x != nil { // an expression may read $?, so it is set only afterwards
		f.in.ok = true
	}
	*failed = *failed || !f.in.ok
	return err
}

func (s stage) run(f *frame, input []value, piped bool, out *sink) error {
	if s.file == nil {
		return s.redirected(f, input, piped, out)
	}
	var got []value
	if err := s.redirected(f, input, piped, collect(&got)); err != nil {
		return err
	}
	return f.writeOutput(s.file, s.append, got)
}

// do runs an expression, a cmdlet, a function, a script block, a script file or a program.
func (s stage) do(f *frame, input []value, piped bool, out *sink) error {
	if s.x != nil {
		return s.give(f, out)
	}
	name, err := s.name.value(f)
	if err != nil {
		return err
	}
	if s.args, err = spread(f, s.args); err != nil {
		return err
	}
	word := text(name)
	script, isScript := f.script(name)
	cmd, isCmdlet := lookup(lower(word))
	isFile := strings.HasSuffix(lower(word), ".ps1")
	if s.here {
		return s.runHere(f, name, isFile && !isScript && !isCmdlet, out)
	}
	switch {
	case isScript:
		return f.in.callScript(f, script, s.args, feed{input, piped}, out)
	case isCmdlet:
		return s.cmdlet(f, cmd, input, piped, out)
	case isFile:
		return s.file1(f, word, feed{input, piped}, out)
	}
	return s.program(f, word, input, piped, out)
}

// script is what a block, or the name of a function, runs.
func (f *frame) script(name value) (*Script, bool) {
	if block, ok := name.(*scriptBlock); ok {
		return block.script, true
	}
	return f.function(lower(text(name)))
}

// runHere runs a block or a script file in this scope: its variables and functions stay.
func (s stage) runHere(f *frame, name value, isFile bool, out *sink) error {
	var script *Script
	switch block, isBlock := name.(*scriptBlock); {
	case isBlock:
		script = block.script
	case isFile:
		var err error
		if script, err = f.in.readFile(f, text(name)); err != nil {
			return late(err)
		}
	default:
		return thrown("Running %s in this scope with . is not part of Mullion's PowerShell.", text(name))
	}
	return f.within(f, script, s.args, feed{}, out)
}

// late is the error of a script file that is refused while another script runs.
func late(err error) error {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return refused.thrown()
	}
	return err
}

func splats(args []argument) bool {
	return slices.ContainsFunc(args, func(a argument) bool { return a.splat })
}

// spread puts the parameters of @name in its place: of a hash table named ones, of a list others.
func spread(f *frame, args []argument) ([]argument, error) {
	if !splats(args) {
		return args, nil
	}
	var out []argument
	for _, a := range args {
		if !a.splat {
			out = append(out, a)
			continue
		}
		v, err := a.x.value(f)
		if err != nil {
			return nil, err
		}
		t, named := v.(*table)
		if !named {
			for item := range each(v) {
				out = append(out, argument{x: &literal{item}})
			}
			continue
		}
		for _, k := range t.keys {
			name := text(k)
			out = append(out, argument{param: lower(name), x: &literal{t.get(k)}, text: "-" + name + ":"})
		}
	}
	return out, nil
}

// give outputs the value of an expression, a list item by item.
func (s stage) give(f *frame, out *sink) error {
	v, err := s.x.value(f)
	if err != nil {
		return err
	}
	if _, counts := s.x.(*incX); counts {
		return nil
	}
	if r, ok := v.(span); ok && out.ranges {
		return out.put(r)
	}
	for item := range each(plain(v)) {
		if err := f.in.ctx.Err(); err != nil {
			return err
		}
		if err := out.put(item); err != nil {
			return err
		}
	}
	return nil
}

func (s stage) cmdlet(f *frame, cmd cmdlet, input []value, piped bool, out *sink) error {
	c, err := cmd.prepare(f, s.args, piped, out)
	if err != nil {
		return err
	}
	if cmd.stream && piped { // with a redirection
		return c.each(input)
	}
	return c.do(input)
}

// each runs a cmdlet once for each object.
func (c *call) each(input []value) error {
	for _, v := range input {
		if err := c.do([]value{v}); err != nil {
			return err
		}
	}
	return nil
}

// file1 runs a script file as a command: its exit ends the file only.
func (s stage) file1(f *frame, word string, fed feed, out *sink) error {
	args, err := s.words(f)
	if err != nil {
		return err
	}
	err = late(f.in.runFile(f, word, args, fed, out))
	if left, ok := errors.AsType[*leaving](err); ok && left.word == "exit" {
		f.in.lastExit, f.in.ok = int64(left.code), left.code == 0
		return nil
	}
	return err
}

// words returns a program's arguments.
func (s stage) words(f *frame) ([]string, error) {
	var words []string
	for _, a := range s.args {
		if a.verbatim {
			words = append(words, verbatimWords(f.in.expand(text(a.x.(*literal).v)))...)
			continue
		}
		if a.param != "" {
			word := a.text
			if a.x != nil {
				v, err := a.x.value(f)
				if err != nil {
					return nil, err
				}
				word += text(v)
			}
			words = append(words, word)
			continue
		}
		v, err := a.x.value(f)
		if err != nil {
			return nil, err
		}
		for item := range each(v) {
			if word := text(item); word != "" { // an empty word is left out, as PowerShell before 7.3 does
				words = append(words, word)
			}
		}
	}
	return words, nil
}

// expand replaces %NAME% by variables of the environment.
func (in *interpreter) expand(s string) string {
	return percentName.ReplaceAllStringFunc(s, func(name string) string {
		if v, ok := in.env[strings.ToUpper(strings.Trim(name, "%"))]; ok {
			return v
		}
		return name
	})
}

var percentName = lazyregexp.New(`%[^%\s]+%`)

// verbatimWords are the words of a text, parted by blanks that are not within quotation marks.
func verbatimWords(s string) []string {
	var words []string
	var b strings.Builder
	inside, any := false, false
	for _, r := range s {
		switch {
		case r == '"':
			inside, any = !inside, true
		case !inside && (r == ' ' || r == '\t'):
			if any {
				words = append(words, b.String())
			}
			b.Reset()
			any = false
		default:
			b.WriteRune(r)
			any = true
		}
	}
	if any {
		words = append(words, b.String())
	}
	return words
}

// program runs a native program; each line of its output is an object.
func (s stage) program(f *frame, word string, input []value, piped bool, out *sink) error {
	in := f.in
	words, err := s.words(f)
	if err != nil {
		return err
	}
	path, err := in.find(word)
	if err != nil {
		return noCommand(word)
	}
	ctx, cancel := context.WithCancel(in.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, words...)
	cmd.Dir, cmd.Env, cmd.Stdin = in.dir, in.environ(), in.session.Stdin
	if piped {
		given, err := formatted(input, in.session.Newline)
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
	in.ok = err == nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return f.complain(word, err)
	}
	return nil
}

// connect connects a program's output and errors with where they go, and returns those that take them line by line.
func (f *frame) connect(cmd *exec.Cmd, out *sink, stop func()) []*lineWriter {
	in := f.in
	one := &sync.Mutex{}
	lines := &lineWriter{put: out.put, stop: stop, one: one}
	cmd.Stdout, cmd.Stderr = lines, lines
	if out.direct {
		in.format.end()
		cmd.Stdout = in.session.Stdout
	}
	goesOn := f.preference("erroractionpreference") == "continue"
	switch merged := in.errs.merged; {
	case merged == nil && in.errs.w == io.Discard:
		cmd.Stderr = nil
	case merged == nil:
		cmd.Stderr = in.errs.w
	case goesOn && merged.direct:
		in.format.end()
		cmd.Stderr = in.session.Stdout
	case goesOn && merged == out: // both in one, in order
	default:
		errorLines := &lineWriter{put: f.errorLine, stop: stop, one: one}
		cmd.Stderr = errorLines
		return []*lineWriter{lines, errorLines}
	}
	return []*lineWriter{lines}
}

// errorLine takes a line that a program writes as an error, where errors are a part of the output. It is text among
// that, or an error if the script does not go on at errors.
func (f *frame) errorLine(line value) error {
	action := f.preference("erroractionpreference")
	if action == "continue" {
		return f.in.errs.merged.put(line)
	}
	r := f.in.recordHere(raise(remoteException, text(line)))
	r.target = line
	return f.reported(action, r)
}

// lineWriter passes each line that a program writes to the pipeline. If the pipeline returns an error, the program is
// ended.
type lineWriter struct {
	rest []byte
	put  func(value) error
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

// find finds a program by its path or in the folders of PATH; as in PowerShell never in the current folder.
func (in *interpreter) find(word string) (string, error) {
	if strings.ContainsAny(word, `/\`) {
		return in.executable(in.path(word))
	}
	for _, dir := range filepath.SplitList(in.env["PATH"]) {
		if path, err := in.executable(filepath.Join(strings.Trim(dir, `"`), word)); err == nil && dir != "" {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func (in *interpreter) executable(path string) (string, error) {
	names := []string{path}
	if in.windows() {
		for _, e := range in.extensions() {
			names = append(names, path+e)
		}
		if filepath.Ext(path) == "" {
			names = names[1:]
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name, nil
		}
	}
	return "", exec.ErrNotFound
}

// extensions are the ends of programs' names on Windows.
func (in *interpreter) extensions() []string {
	return strings.Split(cmp.Or(in.env["PATHEXT"], ".COM;.EXE;.BAT;.CMD"), ";")
}

func (in *interpreter) environ() []string {
	var env []string
	for name, v := range in.env {
		env = append(env, name+"="+v)
	}
	return env
}
