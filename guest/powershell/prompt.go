package powershell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/guest/powershell/completion"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/engine"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// prompt reads commands from standard input and runs each, until the input ends or a command says exit. It returns the
// exit code. A command that goes on in the next line is read to its end first: "if ($x) {", a list, a here-string.
func (s *Session) prompt(ctx context.Context, w work) int {
	in := engine.New(s.state(ctx), Cmdlets())
	defer in.Close()
	script := w.file != "" || w.text != "" // with -NoExit
	if !w.nologo && !script {
		fmt.Fprintf(s.Stdout, "Mullion's PowerShell, a part of the language of Windows PowerShell 5.1.%s%[1]s",
			s.Newline)
	}

	if code, ends := s.profiles(in, w); ends {
		return code
	}

	var interrupts <-chan struct{}
	if s.Interrupts != nil {
		interrupts = s.Interrupts()
	}

	if script {
		if code, ends := s.before(in, w, interrupts); ends {
			return code
		}
	}

	read := s.typist(in, interrupts)
	pasted := s.Console != nil && s.Console.Typed()
	for {
		text, err := readCommand(in, read, pasted)
		switch {
		case errors.Is(err, lineedit.ErrInterrupted):
			continue
		case err != nil: // the end of the input, as Ctrl+Z
			fmt.Fprint(s.Stdout, s.Newline)
			return 0
		}
		code, ends := s.runCommand(in, text, interrupts) //nolint:contextcheck // the interpreter has the context
		if ends {
			return code
		}
	}
}

// before runs the script of a session with -NoExit, in the session's own scope: what it sets is there at the prompt. It
// is not in the history (about_PowerShell_exe).
func (s *Session) before(in *engine.Interpreter, w work, interrupts <-chan struct{}) (code int, ends bool) {
	defer func() { *session.Keep[session.History](in.State) = session.History{} }()
	return s.runCommand(in, w.inScope(), interrupts)
}

// typist reads a line behind a prompt. Before are the lines of the same command before it. The error is ErrInterrupted
// after Ctrl+C, and io.EOF at the end of the input, where line may have what stands there without an end.
type typist func(prompt, before string) (line string, err error)

// typist returns how this session's lines are read: at a console with an editor, otherwise as they come.
func (s *Session) typist(in *engine.Interpreter, interrupts <-chan struct{}) typist {
	if s.Console == nil || !s.Console.Typed() {
		return s.plain(interrupts)
	}

	from := completion.Session{Scope: in.Top, State: in.State}
	history := &lineedit.History{}
	return func(prompt, before string) (string, error) {
		e := &lineedit.Editor{History: history, Complete: func(line string, cursor int) lineedit.Completion {
			return completion.At(from, before, line, cursor)
		}}
		return s.Console.ReadLine(e, prompt, func() bool {
			if in.Rang() { // it is idle: what events ask for runs while somebody types
				in.Pulse()
			}
			return interrupted(interrupts)
		})
	}
}

// plain reads lines of standard input as they come.
func (s *Session) plain(interrupts <-chan struct{}) typist {
	input := bufio.NewReader(s.Stdin)
	return func(prompt, _ string) (string, error) {
		fmt.Fprint(s.Stdout, prompt)
		line, err := input.ReadString('\n')
		if interrupted(interrupts) && line == "" { // a read that Ctrl+C ended
			fmt.Fprint(s.Stdout, s.Newline)
			return "", lineedit.ErrInterrupted
		}
		return strings.TrimRight(line, "\r\n"), err
	}
}

// readCommand prints a prompt and reads a command, of several lines if it is not whole after the first. An empty line
// ends it in any case, as in Windows PowerShell without PSReadLine. With empty it goes on, as with PSReadLine: what is
// pasted has empty lines.
func readCommand(in *engine.Interpreter, read typist, empty bool) (string, error) {
	var text strings.Builder
	sign := promptText(in)
	for {
		line, err := read(sign, text.String())
		last := line != "" && errors.Is(err, io.EOF) // without an end of line
		if err != nil && !last {
			return "", err
		}
		text.WriteString(line + "\n")
		ends := strings.TrimSpace(line) == "" && (!empty || strings.TrimSpace(text.String()) == "")
		if last || ends || lang.Complete(text.String(), dotnet.KnownType) {
			return text.String(), nil
		}

		sign = ">> "
	}
}

// promptText returns the prompt: what the session's function prompt outputs, if it has one, or the current folder. One
// that outputs nothing, or fails, is PS>
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_prompts).
func promptText(in *engine.Interpreter) string {
	block, has := in.Top.Drive("function").Content("prompt")
	if !has {
		return "PS " + in.Location() + "> "
	}
	v, err := in.Invoke(block, nil)
	in.Format.End()
	if text := object.Text(v); err == nil && text != "" {
		return text
	}
	return "PS>"
}

func interrupted(interrupts <-chan struct{}) bool {
	select {
	case <-interrupts:
		return true
	default:
		return false
	}
}

// runCommand runs one command; Ctrl+C ends it. ends says that the session is over, with code.
func (s *Session) runCommand(in *engine.Interpreter, text string, interrupts <-chan struct{}) (code int, ends bool) {
	began := time.Now()
	script, err := lang.Parse(text, "", dotnet.KnownType)
	if err == nil {
		leave := in.Enter(script)
		err = in.Interruptible(interrupts, func() error {
			return in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
		})
		leave()
	}

	in.Format.End()
	remember(in, strings.TrimRight(text, "\n"), began, err)
	return s.ended(in, err)
}

// ended reports the error with which a command ended. ends says that the session is over, with code.
func (s *Session) ended(in *engine.Interpreter, err error) (code int, ends bool) {
	var left *object.Leaving
	var refused *lang.Refusal
	switch {
	case errors.As(err, &left) && left.Word == "exit":
		return left.Code, true
	case errors.As(err, &left) && left.Word != "throw": // return, break: the end of the command
	case errors.Is(err, context.Canceled) && in.Context.Err() == nil: // Ctrl+C
	case errors.As(err, &refused):
		in.OK = false
		undo := in.Paint("red", "black")
		fmt.Fprintf(s.Stderr, "%s%s", refused.Lines(s.Newline), s.Newline)
		undo()
	case err != nil:
		in.Report(err)
	}

	return 0, false
}

// remember puts a command that has run into the history.
func remember(in *engine.Interpreter, command string, began time.Time, err error) {
	if strings.TrimSpace(command) == "" {
		return
	}
	status := "Completed"
	switch {
	case errors.Is(err, context.Canceled):
		status = "Stopped"
	case err != nil:
		status = "Failed"
	}
	session.Keep[session.History](in.State).Add(session.Entry{
		Command: command, Status: status, Start: began, End: time.Now(),
	})
}
