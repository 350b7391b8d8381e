package powershell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// prompt reads commands from standard input and runs each, until the input ends or a command says exit. It returns the
// exit code. A command that goes on in the next line is read to its end first: "if ($x) {", a list, a here-string.
func (s *Session) prompt(ctx context.Context, logo bool) int {
	in := newInterpreter(ctx, s)
	defer in.close()
	if logo {
		fmt.Fprintf(s.Stdout, "Mullion's PowerShell, a part of the language of Windows PowerShell 5.1.%s%[1]s", s.Newline)
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
func (s *Session) readCommand(in *interpreter, input *bufio.Reader, interrupts <-chan struct{}) (string, error) {
	var text strings.Builder
	sign := "PS " + in.dir + "> "
	for {
		fmt.Fprint(s.Stdout, sign)
		line, err := input.ReadString('\n')
		if interrupted(interrupts) && line == "" { // a read that Ctrl+C ended
			text.Reset()
			sign = "PS " + in.dir + "> "
			fmt.Fprint(s.Stdout, s.Newline)
			continue
		}
		last := line != "" && errors.Is(err, io.EOF) // without an end of line
		if err != nil && !last {
			return "", err
		}
		line = strings.TrimRight(line, "\r\n")
		text.WriteString(line + "\n")
		if last || strings.TrimSpace(line) == "" || endsThere(text.String()) {
			return text.String(), nil
		}
		sign = ">> "
	}
}

// endsThere reports whether a command does not go on in the next line: it can be read, or what is wrong with it is not
// that it ends too soon.
func endsThere(text string) bool {
	p := &parser{src: []rune(strings.TrimRight(text, " \t\r\n"))}
	_, err := p.script("")
	return err == nil || p.at < len(p.src)
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
func (s *Session) runCommand(in *interpreter, text string, interrupts <-chan struct{}) (code int, ends bool) {
	script, err := in.read(in.top, text)
	if err == nil {
		leave := in.enter(script)
		err = in.interruptible(interrupts, func() error { return script.run(in.top, nil, feed{}, in.screen) })
		leave()
	}
	in.format.end()
	var left *leaving
	var refused *Refusal
	switch {
	case errors.As(err, &left) && left.word == "exit":
		return left.code, true
	case errors.As(err, &left) && left.word != "throw": // return, break: the end of the command
	case errors.Is(err, context.Canceled) && in.ctx.Err() == nil: // Ctrl+C
	case errors.As(err, &refused):
		in.ok = false
		fmt.Fprintf(s.Stderr, "%s%s", refused.lines(s.Newline), s.Newline)
	case err != nil:
		in.ok = false
		fmt.Fprintf(s.Stderr, "%v%s", err, s.Newline)
	}
	return 0, false
}

// interruptible runs do with a context that Ctrl+C ends.
func (in *interpreter) interruptible(interrupts <-chan struct{}, do func() error) error {
	outer := in.ctx
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	in.ctx = ctx
	defer func() { in.ctx = outer }()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-interrupts:
			cancel()
		case <-done:
		}
	}()
	return do()
}
