package shell

import (
	"context"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/syntax"
)

// call carries out CALL: percent signs are expanded once more, and a batch file comes back.
// Without anything after it ERRORLEVEL is 1, with a blank 0: batch files set it in this way.
func (s *Shell) call(ctx context.Context, args string) (int32, flow) {
	if args == "" {
		s.code = 1
		return 1, next
	}
	text, err := s.percent(strings.TrimLeft(args, delimiters))
	if err != nil {
		return s.fail(err)
	}

	text = doubled(text)
	if text == "" {
		s.code = 0
		return 0, next
	}
	if text[0] == ':' {
		return s.subroutine(ctx, text)
	}

	name, rest := command(text)
	switch strings.ToLower(name) {
	case "if", "for":
		return s.unknown(name, disk.FileNotFound)
	}

	s.calls++
	defer func() { s.calls-- }()
	if file, err := s.find(unquoted(name)); err == nil && isBatch(file) {
		calls := s.calls
		s.calls = 0
		code, how := s.batch(ctx, file, name, rest)
		s.calls = calls
		return code, how
	}

	return s.simple(ctx, text)
}

// doubled returns what CALL makes of carets: in quotes each becomes two.
func doubled(text string) string {
	if !strings.Contains(text, "^") {
		return text
	}

	var b strings.Builder
	quoted := false
	for i := range len(text) {
		c := text[i]
		if c == '"' {
			quoted = !quoted
		}
		if c == '^' && quoted {
			b.WriteByte('^')
		}
		b.WriteByte(c)
	}

	return b.String()
}

// start carries out START: a program that is not waited for.
func (s *Shell) start(ctx context.Context, args string) (int32, flow) {
	rest := strings.TrimLeft(args, delimiters)
	if strings.HasPrefix(rest, `"`) { // the title
		_, rest = command(rest)
		rest = strings.TrimLeft(rest, delimiters)
	}

	wait, apart := false, true
	dir := s.dir
	for strings.HasPrefix(rest, "/") {
		word, after := command(rest)
		after = strings.TrimLeft(after, delimiters)
		switch option := strings.ToLower(word); option {
		case "/wait", "/w":
			wait = true
		case "/b":
			apart = false
		case "/d":
			word, after = command(after)
			dir = s.full(unquoted(word))
			after = strings.TrimLeft(after, delimiters)

		case "/node", "/affinity", "/machine":
			_, after = command(after)
			after = strings.TrimLeft(after, delimiters)

		case "/i", "/min", "/max", "/separate", "/shared",
			"/low", "/normal", "/high", "/realtime", "/abovenormal", "/belownormal":
		default:
			if path, ok := strings.CutPrefix(option, "/d"); ok && path != "" {
				dir = s.full(unquoted(word[2:]))
				break
			}
			s.say("Invalid switch - \"" + word + "\".")
			return 1, next
		}

		rest = after
	}

	if rest == "" {
		rest = "cmd"
	}

	return s.launch(ctx, rest, dir, wait, apart)
}

// launch starts what START names. A batch file or a builtin needs a cmd.exe.
func (s *Shell) launch(ctx context.Context, line, dir string, wait, apart bool) (int32, flow) {
	name, _ := command(line)
	file, err := s.find(unquoted(name))
	if _, _, found := s.builtin(line); found || (err == nil && isBatch(file)) {
		shell, _ := s.env.get("COMSPEC")
		if shell == "" {
			shell, err = s.find("cmd.exe")
		} else {
			err = nil
		}
		file, line = shell, `"`+shell+`" /c "`+line+`"`
	}
	if err != nil {
		s.say("The system cannot find the file " + unquoted(name) + ".")
		return unknownCode, next
	}

	p := Program{
		File:    file,
		Line:    line,
		Dir:     dir,
		Environ: s.env.environ(),
		Apart:   apart && !wait,
	}

	copy(p.Files[:], s.files[:3])
	done, err := s.o.Host.Start(ctx, p)
	if err != nil {
		return s.fail(err)
	}
	if !wait {
		go func() { _, _ = done() }() // its end is nobody's concern
		return 0, next
	}

	code, err := done()
	if err != nil {
		return s.fail(err)
	}

	return int32(code), next //nolint:gosec // an exit code has 32 bits, and ERRORLEVEL a sign
}

// oneLine gives the parser a single line.
type oneLine struct {
	text string
	done bool
}

func (l *oneLine) Next() (string, bool) {
	if l.done {
		return "", false
	}
	l.done = true
	return l.text, true
}

// line runs a command line.
func (s *Shell) line(ctx context.Context, text string) (int32, flow) {
	text, err := s.percent(text)
	if err != nil {
		return s.fail(err)
	}

	n, err := syntax.Parse(&oneLine{text: text})
	if err != nil {
		s.say(err.Error())
		s.code = syntaxCode
		return syntaxCode, next
	}
	if n == nil {
		return 0, next
	}

	return s.exec(ctx, n)
}
