package powershell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/engine"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// prompt reads commands from standard input and runs each, until the input ends or a command says exit. It returns the
// exit code. A command that goes on in the next line is read to its end first: "if ($x) {", a list, a here-string.
func (s *Session) prompt(ctx context.Context, logo bool) int {
	in := engine.New(s.state(ctx), cmdlets())
	defer in.Close()
	if logo {
		fmt.Fprintf(s.Stdout, "Mullion's PowerShell, a part of the language of Windows PowerShell 5.1.%s%[1]s",
			s.Newline)
	}

	var interrupts <-chan struct{}
	if s.Interrupts != nil {
		interrupts = s.Interrupts()
	}

	input := bufio.NewReader(s.Stdin)
	for {
		text, err := s.readCommand(in, input, interrupts)
		if err != nil { // the end of the input, as Ctrl+Z
			fmt.Fprint(s.Stdout, s.Newline)
			return 0
		}
		code, ends := s.runCommand(in, text, interrupts) //nolint:contextcheck // the interpreter has the context
		if ends {
			return code
		}
	}
}

// readCommand prints a prompt and reads a command, of several lines if it is not whole after the first. An empty line
// ends it in any case. After Ctrl+C it begins anew.
func (s *Session) readCommand(in *engine.Interpreter, input *bufio.Reader, interrupts <-chan struct{}) (string, error) {
	var text strings.Builder
	sign := "PS " + in.Dir + "> "
	for {
		fmt.Fprint(s.Stdout, sign)
		line, err := input.ReadString('\n')
		if interrupted(interrupts) && line == "" { // a read that Ctrl+C ended
			text.Reset()
			sign = "PS " + in.Dir + "> "
			fmt.Fprint(s.Stdout, s.Newline)
			continue
		}

		last := line != "" && errors.Is(err, io.EOF) // without an end of line
		if err != nil && !last {
			return "", err
		}
		line = strings.TrimRight(line, "\r\n")
		text.WriteString(line + "\n")
		if last || strings.TrimSpace(line) == "" || lang.Complete(text.String(), dotnet.KnownType) {
			return text.String(), nil
		}

		sign = ">> "
	}
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
	script, err := lang.Parse(text, "", dotnet.KnownType)
	if err == nil {
		leave := in.Enter(script)
		err = in.Interruptible(interrupts, func() error {
			return in.Top.RunScript(script, nil, engine.Feed{}, in.Screen)
		})
		leave()
	}

	in.Format.End()
	var left *object.Leaving
	var refused *lang.Refusal
	switch {
	case errors.As(err, &left) && left.Word == "exit":
		return left.Code, true
	case errors.As(err, &left) && left.Word != "throw": // return, break: the end of the command
	case errors.Is(err, context.Canceled) && in.Context.Err() == nil: // Ctrl+C
	case errors.As(err, &refused):
		in.OK = false
		fmt.Fprintf(s.Stderr, "%s%s", refused.Lines(s.Newline), s.Newline)
	case err != nil:
		in.Report(err)
	}

	return 0, false
}
