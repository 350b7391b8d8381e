package shell

import (
	"errors"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/arith"
)

// set carries out SET.
func (s *Shell) set(args string) int32 {
	text := strings.TrimLeft(args, delimiters)
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(lower, "/a"):
		return s.calculate(text[2:])
	case strings.HasPrefix(lower, "/p"):
		return s.ask(strings.TrimLeft(text[2:], " \t"))
	case strings.HasPrefix(text, `"`):
		text = text[1:]
		if end := strings.LastIndexByte(text, '"'); end >= 0 {
			text = text[:end]
		}
	}

	name, value, assigns := strings.Cut(text, "=")
	if !assigns || name == "" {
		return s.list(strings.TrimRight(text, " \t"))
	}
	if len(value) > longest {
		s.say(errTooLong.Error())
		return 1
	}
	s.env.set(name, value)
	return 0
}

// list shows the variables whose names begin with a prefix.
func (s *Shell) list(prefix string) int32 {
	var b strings.Builder
	for _, v := range s.env.sorted(prefix) {
		if !strings.HasPrefix(v.name, "=") {
			b.WriteString(v.name + "=" + v.value + "\r\n")
		}
	}

	if b.Len() == 0 && prefix != "" {
		s.say("Environment variable " + prefix + " not defined")
		return 1
	}
	s.print("%s", b.String())
	return 0
}

// numbers are the variables of SET /A.
type numbers struct{ s *Shell }

func (n numbers) Get(name string) string {
	value, _ := n.s.lookup(name)
	return value
}

func (n numbers) Set(name, value string) { n.s.env.set(name, value) }

// calculate carries out SET /A. On the command line it prints the result.
func (s *Shell) calculate(text string) int32 {
	value, err := arith.Evaluate(text, numbers{s})
	if wrong, ok := errors.AsType[*arith.Error](err); ok {
		s.say(wrong.Message)
		return wrong.Code
	}
	if s.frame == nil {
		s.print("%d", value)
	}
	return 0
}

// ask carries out SET /P. Without a name, "set /p =text", it prints the text and sets nothing: so batch files print
// without an end of line (https://ss64.com/nt/set.html).
func (s *Shell) ask(text string) int32 {
	if strings.HasPrefix(text, `"`) {
		text = text[1:]
		if end := strings.LastIndexByte(text, '"'); end >= 0 {
			text = text[:end]
		}
	}

	name, prompt, ok := strings.Cut(text, "=")
	if !ok {
		s.say("The syntax of the command is incorrect.")
		return 1
	}

	prompt = strings.TrimLeft(prompt, " \t")
	if len(prompt) > 1 && strings.HasPrefix(prompt, `"`) {
		if end := strings.LastIndexByte(prompt, '"'); end > 0 {
			prompt = prompt[1:end]
		}
	}

	s.print("%s", prompt)
	line, ok := s.readLine()
	s.awaitInterrupt(line, ok)
	if !ok || line == "" || name == "" {
		return 1
	}
	s.env.set(name, line)
	return 0
}

// readLine reads a line of standard input without its end, and nothing beyond it: what follows is for the next reader.
// false: the input has ended.
func (s *Shell) readLine() (string, bool) {
	f := s.files[0]
	if f == nil {
		return "", false
	}
	size := 1
	if s.o.System.Terminal(f) {
		size = 16 << 10 // a terminal gives one line at a time
	}

	var line []byte
	buffer := make([]byte, size)
	for {
		n, err := f.Read(buffer)
		line = append(line, buffer[:n]...)
		if n > 0 && line[len(line)-1] == '\n' {
			return strings.TrimRight(string(line), "\r\n"), true
		}
		if err != nil || n == 0 || len(line) > 1<<20 {
			return strings.TrimRight(string(line), "\r\n"), len(line) > 0
		}
	}
}
