package shell

import (
	"context"
	"errors"
	"io"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/syntax"
)

// Line runs a command line to its end, as cmd /c does, and returns the exit code. quit says that a command ended the
// shell.
func (s *Shell) Line(ctx context.Context, text string) (code int32, ended bool) {
	code, how := s.line(ctx, text)
	if how == quit || how == abort {
		code = s.code
	}
	return code, how == quit
}

// Prompt reads commands from standard input and runs each, until the input ends or a command ends the shell. It returns
// the exit code.
func (s *Shell) Prompt(ctx context.Context) int32 {
	s.prompting = true
	for {
		lines := &promptLines{s: s}
		n, err := syntax.Parse(lines)
		switch {
		case lines.stopped:
			if !lines.shown {
				s.print("\r\n")
			}
			continue
		case lines.err != nil:
			s.say(lines.err.Error())
			continue

		case errors.Is(err, io.EOF) || (lines.ended && err != nil):
			return s.code
		case err != nil:
			s.say(err.Error())
			s.code = syntaxCode
			continue
		case n == nil:
			continue
		}

		s.pressed = false
		_ = s.told() // a Ctrl+C before this line was read has ended another command, and nothing else
		if _, how := s.exec(ctx, n); how == quit {
			return s.code
		}
	}
}

// promptLines reads the lines of a command at the prompt.
type promptLines struct {
	s       *Shell
	number  int
	err     error
	ended   bool // the input has
	stopped bool // by Ctrl+C
	shown   bool // and that is shown
}

func (p *promptLines) Next() (string, bool) {
	s := p.s
	if p.err != nil {
		return "", false
	}

	prompt := ""
	switch {
	case s.echo && p.number == 0:
		s.print("\r\n")
		prompt = s.promptText()
	case s.echo:
		prompt = "More? "
	}

	p.number++
	line, ok, interrupted := s.typed(prompt)
	if interrupted || (line == "" && s.stopped(ok)) {
		p.stopped, p.shown = true, interrupted
		return "", false
	}

	if !ok {
		p.ended = true
		return "", false
	}

	line, p.err = s.percent(line)
	return line, p.err == nil
}

// setPrompt carries out PROMPT.
func (s *Shell) setPrompt(args string) int32 {
	s.env.set("PROMPT", strings.TrimLeft(args, delimiters))
	return 0
}

// promptText returns the prompt, as the variable PROMPT describes it.
func (s *Shell) promptText() string {
	format, ok := s.env.get("PROMPT")
	if !ok {
		format = "$P$G"
	}

	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '$' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		b.WriteString(s.promptPart(format[i] | 0x20))
	}

	return b.String()
}

// promptPart returns what a letter after $ stands for.
func (s *Shell) promptPart(letter byte) string {
	switch letter {
	case 'p':
		return s.dir
	case 'n':
		return s.dir[:min(1, len(s.dir))]
	case 'd':
		return date(s.o.Now())
	case 't':
		return clock(s.o.Now())
	case 'v':
		return "Microsoft Windows [Version " + s.o.System.Version() + "]"
	case '_' | 0x20:
		return "\r\n"
	case 'h':
		return "\b \b"
	case '+':
		return strings.Repeat("+", len(s.stack))
	}

	if at := strings.IndexByte("abceflgqs$", letter); at >= 0 {
		return string("&|(\x1b)<>= $"[at])
	}

	return ""
}
