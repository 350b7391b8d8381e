package powershell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func (s *pipeline) run(f *frame, out *sink) error {
	var input []value
	for i, st := range s.stages {
		if i == len(s.stages)-1 {
			return st.run(f, input, i > 0, out)
		}
		var got []value
		if err := st.run(f, input, i > 0, &sink{put: func(v value) error { got = append(got, v); return nil }}); err != nil {
			return err
		}
		input = got
	}
	return nil
}

func (s stage) run(f *frame, input []value, piped bool, out *sink) error {
	if s.file == nil {
		return s.do(f, input, piped, out)
	}
	path, err := s.file.value(f)
	if err != nil {
		return err
	}
	var got []value
	if err := s.do(f, input, piped, &sink{put: func(v value) error { got = append(got, v); return nil }}); err != nil {
		return err
	}
	if path == nil { // > $null
		return nil
	}
	content, err := formatted(got, f.in.session.Newline)
	if err != nil {
		return err
	}
	how := os.O_TRUNC
	if s.append {
		how = os.O_APPEND
	}
	if err := writeFile(f.in.path(text(path)), content, how); err != nil {
		return f.complain("out-file", because(text(path), err))
	}
	return nil
}

// do runs an expression, a cmdlet, a function, a script block, a script file or a program.
func (s stage) do(f *frame, input []value, piped bool, out *sink) error {
	if s.x != nil {
		f.in.ok = true
		v, err := s.x.value(f)
		if err != nil {
			return err
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
	name, err := s.name.value(f)
	if err != nil {
		return err
	}
	if b, ok := name.(*scriptBlock); ok {
		return f.in.callScript(f, b.script, s.args, out)
	}
	word := text(name)
	if fn, ok := f.in.functions[lower(word)]; ok {
		return f.in.callScript(f, fn, s.args, out)
	}
	if cmd, ok := lookup(lower(word)); ok {
		return cmd.call(f, s.args, input, piped, out)
	}
	if strings.HasSuffix(lower(word), ".ps1") {
		return s.file1(f, word, out)
	}
	return s.program(f, word, input, piped, out)
}

// file1 runs a script file as a command: its exit ends the file only.
func (s stage) file1(f *frame, word string, out *sink) error {
	args, err := s.words(f)
	if err != nil {
		return err
	}
	f.in.ok = true
	err = f.in.runFile(f, word, args, out)
	var left *leaving
	if errors.As(err, &left) && left.word == "exit" {
		f.in.lastExit, f.in.ok = int64(left.code), left.code == 0
		return nil
	}
	return err
}

// words are a program's arguments.
func (s stage) words(f *frame) ([]string, error) {
	var words []string
	for _, a := range s.args {
		if a.param != "" {
			word := a.text
			if a.x != nil {
				v, err := a.x.value(f)
				if err != nil {
					return nil, err
				}
				word = word[:strings.Index(word, ":")+1] + text(v)
			}
			words = append(words, word)
			continue
		}
		v, err := a.x.value(f)
		if err != nil {
			return nil, err
		}
		if l, ok := v.([]value); ok {
			for _, item := range l {
				words = append(words, text(item))
			}
			continue
		}
		words = append(words, text(v))
	}
	return words, nil
}

// program runs a native program: its lines are the objects it gives.
func (s stage) program(f *frame, word string, input []value, piped bool, out *sink) error {
	in := f.in
	words, err := s.words(f)
	if err != nil {
		return err
	}
	path, err := in.find(word)
	if err != nil {
		in.ok = false
		return f.complain(word, fmt.Errorf("The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program.", word)) //nolint:revive,staticcheck // PowerShell's own words
	}
	cmd := exec.CommandContext(in.ctx, path, words...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = in.dir, in.environ(), in.session.Stdin, in.session.Stderr
	if piped {
		given, err := formatted(input, in.session.Newline)
		if err != nil {
			return err
		}
		cmd.Stdin = strings.NewReader(given)
	}
	if s.errors == "null" {
		cmd.Stderr = nil
	}
	var got bytes.Buffer
	cmd.Stdout = &got
	if out.direct {
		in.format.end()
		cmd.Stdout = in.session.Stdout
	}
	if s.errors == "merge" {
		cmd.Stderr = cmd.Stdout
	}
	err = cmd.Run()
	in.lastExit, in.ok = int64(cmd.ProcessState.ExitCode()), err == nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return f.complain(word, err)
	}
	for line := range strings.Lines(got.String()) {
		if err := out.put(strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

// find finds a program: by its path, or in the folders of PATH, as PowerShell does never in the current folder.
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
	if in.session.Newline == "\r\n" { // Windows
		extensions := in.env["PATHEXT"]
		if extensions == "" {
			extensions = ".COM;.EXE;.BAT;.CMD"
		}
		for e := range strings.SplitSeq(extensions, ";") {
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

func (in *interpreter) environ() []string {
	var env []string
	for name, v := range in.env {
		env = append(env, name+"="+v)
	}
	return env
}
