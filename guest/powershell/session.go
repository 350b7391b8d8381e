package powershell

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/guest/powershell/check"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/engine"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
)

// Session is one run of powershell.exe.
type Session struct {
	// Args are the program's arguments, without its name.
	Args []string
	// Environ is its environment, as name=value.
	Environ []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	// Self is the program's own file, with which jobs are run.
	Self string
	// Newline ends lines: "\r\n" on Windows.
	Newline string
	// Interrupts, asked for by a prompt only, gives a channel that has a value for each Ctrl+C, which then does not end
	// the process; nil: nobody presses it.
	Interrupts func() <-chan struct{}
	// Console is the console that shows Stdout; nil: none does.
	Console Console
	// windows replaces the calls of Windows in tests; nil: the real ones.
	windows *system.Calls
}

// Console is a console at which a person may type.
type Console interface {
	session.Console
	// Typed reports whether Stdin is typed there.
	Typed() bool
	// ReadLine reads a line with an editor. interrupts returns whether Ctrl+C was pressed since it was asked last.
	ReadLine(e *lineedit.Editor, prompt string, interrupts func() bool) (string, error)
}

// ExitRefused is the exit code of a refused script, and of a script whose last command failed: PowerShell's own
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_powershell_exe).
const ExitRefused = 1

// ignored returns the arguments of Windows PowerShell that change nothing here, each with the values that it may have:
// there are no questions, no window and no apartments of COM, scripts are not signed, and input and output are text.
// Others are refused.
func ignored() map[string][]string {
	policies := []string{"bypass", "unrestricted", "remotesigned"}
	return map[string][]string{
		"servermode": nil, "noexit": nil, "noprofile": nil, "noninteractive": nil, "nologo": nil, "sta": nil, "mta": nil,
		"executionpolicy": policies,
		"windowstyle":     {"normal", "minimized", "maximized", "hidden"},
		"version":         {"5.1", "5.0", "5", "4.0", "4", "3.0", "3"},
		"outputformat":    {"text"}, "inputformat": {"text"},
	}
}

// whole returns the whole name of an argument's shortened one: from so many letters on a name may be cut anywhere. Some
// have a second short name. (PowerShell's CommandLineParameterParser, MatchSwitch.)
func whole(name string) string {
	if long, ok := map[string]string{"ec": "encodedcommand", "ep": "executionpolicy"}[name]; ok {
		return long
	}

	for _, a := range []struct{ name, least string }{
		{"noprofile", "nop"},
		{"nologo", "nol"},
		{"noexit", "noe"},
		{"version", "v"},
		{"noninteractive", "noni"},
		{"command", "c"},
		{"windowstyle", "w"},
		{"file", "f"},
		{"executionpolicy", "ex"},
		{"encodedcommand", "e"},
		{"outputformat", "o"},
		{"inputformat", "in"},
	} {
		if strings.HasPrefix(a.name, name) && strings.HasPrefix(name, a.least) {
			return a.name
		}
	}

	return name
}

// work is the script that the arguments name.
type work struct {
	text string   // a script
	file string   // or a file with one, and
	args []string // its arguments

	prompt    bool // or that commands are typed, after the script if there is one
	nologo    bool
	noprofile bool
	stays     bool // -NoExit: what is typed follows a script
	serves    bool // it is the script of a job, whose output is sent as objects
}

// inScope returns the script as a command: that of a file with . before it, its parameters as they are and what else
// it is given in apostrophes.
func (w *work) inScope() string {
	if w.file == "" {
		return w.text
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	words := []string{".", quote(w.file)}
	for _, a := range w.args {
		if name, is := strings.CutPrefix(a, "-"); !is || !isWord(name) {
			a = quote(a)
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// isWord reports whether a text is a name of letters, and no number.
func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
}

// set notes an argument without a value.
func (w *work) set(name string) {
	switch name {
	case "nologo":
		w.nologo = true
	case "noprofile":
		w.noprofile = true
	case "noexit":
		w.stays = true
	case "servermode":
		w.serves = true
	}
}

func (s *Session) work() (work, error) {
	args := s.Args
	w := work{prompt: true}
	does := func(one work, err error) (work, error) {
		one.noprofile, one.nologo = w.noprofile, w.nologo
		one.serves = w.serves
		one.prompt = w.stays
		return one, err
	}
	for len(args) > 0 {
		arg := args[0]
		if (!strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "/")) || strings.Count(arg, "/") > 1 {
			return does(work{text: strings.Join(args, " ")}, nil)
		}

		args = args[1:]
		name := whole(strings.ToLower(strings.TrimLeft(arg, "-/")))
		switch name {
		case "command":
			return does(s.command(args))
		case "file":
			if len(args) == 0 {
				return work{}, fmt.Errorf("%s needs a file", arg)
			}
			return does(work{file: args[0], args: args[1:]}, nil)

		case "encodedcommand":
			if len(args) == 0 {
				return work{}, fmt.Errorf("%s needs a command", arg)
			}
			text, err := decode(args[0])
			return does(work{text: text}, err)

		default:
			allowed, skip := ignored()[name]
			if !skip {
				return work{}, fmt.Errorf("the argument %s is not part of Mullion's PowerShell", arg)
			}
			if allowed == nil {
				w.set(name)
				continue
			}

			if len(args) == 0 || !slices.Contains(allowed, strings.ToLower(args[0])) {
				given := strings.Join(args[:min(1, len(args))], "")
				return work{}, fmt.Errorf("the argument %s with %q is not part of Mullion's PowerShell", arg, given)
			}
			args = args[1:]
		}
	}

	return w, nil
}

// command returns the script of -Command; for - it reads standard input.
func (s *Session) command(args []string) (work, error) {
	if len(args) == 1 && args[0] == "-" {
		text, err := io.ReadAll(s.Stdin)
		return work{text: string(text)}, err
	}
	if len(args) == 0 {
		return work{}, errors.New("-Command needs a command")
	}
	return work{text: strings.Join(args, " ")}, nil
}

// decode reads -EncodedCommand: base64 of UTF-16, the low byte first.
func decode(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data)%2 != 0 {
		return "", errors.New("the encoded command is not base64 of UTF-16")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
	}
	return string(utf16.Decode(units)), nil
}

// state returns the state with which a session begins.
func (s *Session) state(ctx context.Context) *session.State {
	st := &session.State{
		Context: ctx,
		Whole:   ctx,
		Newline: s.Newline,
		Self:    s.Self,
		Stdin:   s.Stdin,
		Stdout:  s.Stdout,
		Stderr:  s.Stderr,
		Env:     map[string]string{},
		System:  s.windows,
	}
	if s.Console != nil {
		st.Console = s.Console
	}
	if s.Console != nil && s.Console.Typed() {
		st.Secret = s.secret
	}
	if st.System == nil {
		st.System = system.Windows()
	}

	for _, e := range s.Environ {
		if name, v, ok := strings.Cut(e, "="); ok && name != "" {
			st.Inherit(name, v)
		}
	}

	st.Core = core(s.Self, st.Env["PROGRAMFILES"])
	st.Dir, _ = os.Getwd() // without a current folder, relative paths fail later
	return st
}

// secret asks at the console for a line that is not shown. Ctrl+C ends the command that asks.
func (s *Session) secret(question string) (string, error) {
	e := &lineedit.Editor{History: &lineedit.History{}, Mask: '*'}
	line, err := s.Console.ReadLine(e, question, func() bool { return false }) // Ctrl+C comes as a key
	if errors.Is(err, lineedit.ErrInterrupted) {
		return "", context.Canceled
	}
	return line, err
}

// core reports whether the program stands for PowerShell 6 or later: by its own name, or because the image's
// powershell.exe is that one, as in upstream's test images
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/test/images/busybox/Dockerfile_windows).
func core(self, programs string) bool {
	if strings.EqualFold(filepath.Base(strings.ReplaceAll(self, `\`, "/")), "pwsh.exe") {
		return true
	}
	if programs == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(programs, "PowerShell", "powershell.exe"))
	return err == nil
}

// Run runs the script that the arguments name, and returns the exit code.
func (s *Session) Run(ctx context.Context) int {
	w, err := s.work()
	if err != nil {
		return s.refuse(err)
	}
	if w.prompt {
		return s.prompt(ctx, w)
	}
	in := engine.New(s.state(ctx), Cmdlets())
	defer in.Close()
	if code, ends := s.profiles(in, w); ends {
		return code
	}
	if w.serves {
		return s.serve(in, w.text)
	}

	if w.file != "" {
		err = in.RunFile(in.Top, w.file, w.args, engine.Feed{}, in.Screen)
	} else {
		var script *lang.Script
		if script, err = lang.Parse(w.text, "", dotnet.KnownType); err == nil {
			defer in.Enter(script)()
			err = in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
		}
	}

	in.Format.End()
	return s.code(in, w, err)
}

// profiles runs the session's profiles in its own scope. An error in one is reported, and those after it run; one that
// says exit ends the session, with code.
func (s *Session) profiles(in *engine.Interpreter, w work) (code int, ends bool) {
	if w.noprofile {
		return 0, false
	}

	for _, file := range in.Profiles() {
		script, err := lang.Parse(". '"+strings.ReplaceAll(file, "'", "''")+"'", "", dotnet.KnownType)
		if err == nil {
			leave := in.Enter(script)
			err = in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
			leave()
		}
		in.Format.End()

		var left *object.Leaving
		if errors.As(err, &left) && left.Word == "exit" {
			return left.Code, true
		}
		if err != nil && (left == nil || left.Word == "throw") {
			in.Report(err)
		}
	}

	in.OK = true
	return 0, false
}

// code returns the exit code for how a script ended.
func (s *Session) code(in *engine.Interpreter, w work, err error) int {
	var refused *lang.Refusal
	var left *object.Leaving
	switch {
	case errors.As(err, &refused):
		fmt.Fprintf(s.Stderr, "%s%s", refused.Lines(s.Newline), s.Newline)
		return ExitRefused
	case errors.As(err, &left) && left.Word == "exit":
		return left.Code
	case errors.As(err, &left) && left.Word != "throw": // return, break: the end of the script
		err = nil
	}
	if err != nil {
		in.Report(err)
		return ExitRefused
	}

	if w.file == "" && !in.OK {
		return ExitRefused
	}
	return 0
}

func (s *Session) refuse(err error) int {
	fmt.Fprintf(
		s.Stderr, "powershell.exe: %v.%[2]sNothing was run. `mullion support` and docs/compat list what Mullion's PowerShell has.%[2]s",
		strings.TrimSuffix(err.Error(), "."), s.Newline)
	return ExitRefused
}

// Lacks lists what a script lacks, as far as its text shows that. The error is that of a text that cannot be read.
func Lacks(text string) ([]check.Lack, error) {
	s, err := lang.Parse(text, "", dotnet.KnownType)
	if err != nil {
		return nil, err
	}
	return check.Lacks(s, Cmdlets()), nil
}
