package shell

import (
	"bufio"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
)

// macros are those of DOSKEY, by their names in lower case. All shells of a process have the same ones.
type macros struct {
	names []string // in lower case, in the order in which they were made
	texts map[string]string
}

// set gives a macro a text; "" takes it away.
func (m *macros) set(name, text string) {
	key := strings.ToLower(name)
	switch _, there := m.texts[key]; {
	case text == "":
		delete(m.texts, key)
		m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == key })
		return
	case !there:
		m.names = append(m.names, key)
	}
	if m.texts == nil {
		m.texts = map[string]string{}
	}
	m.texts[key] = text
}

// expand returns what a typed line stands for: the text of the macro that is its first word, with its arguments.
func (m *macros) expand(line string) string {
	rest := strings.TrimLeft(line, " \t")
	name, after, _ := strings.Cut(rest, " ")
	text, is := m.texts[strings.ToLower(name)]
	if !is || len(rest) < len(line) { // as there, a blank before it keeps a line from being a macro
		return line
	}
	after = strings.TrimLeft(after, " ")
	arguments := words(after)

	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}

		i++
		switch c := text[i] | 0x20; {
		case c == 'g':
			b.WriteByte('>')
		case c == 'l':
			b.WriteByte('<')
		case c == 'b':
			b.WriteByte('|')
		case c == 't':
			b.WriteByte('&')
		case text[i] == '$':
			b.WriteByte('$')
		case text[i] == '*':
			b.WriteString(after)
		case text[i] >= '1' && text[i] <= '9':
			if n := int(text[i] - '1'); n < len(arguments) {
				b.WriteString(arguments[n])
			}
		default:
			b.WriteString(text[i-1 : i+1])
		}
	}
	return b.String()
}

// doskey carries out DOSKEY (https://learn.microsoft.com/windows-server/administration/windows-commands/doskey), which
// is a program there. Its macros are those of this cmd.exe: they stand for lines that are typed at its prompt.
func (s *Shell) doskey(args string) int32 {
	rest := strings.TrimLeft(args, " \t")
	for strings.HasPrefix(rest, "/") {
		var option string
		option, rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimLeft(rest, " \t")
		if code := s.doskeyOption(option[1:]); code != 0 {
			return code
		}
	}

	if rest == "" {
		return 0
	}
	return s.macro(rest)
}

// doskeyOption carries out one switch, whose slash is gone.
func (s *Shell) doskeyOption(option string) int32 {
	name, value, _ := strings.Cut(option, "=")
	name, of, _ := strings.Cut(strings.ToLower(name), ":")
	switch name {
	case "macros", "m":
		return s.macrosOf(of)
	case "history", "h":
		for _, line := range s.history.Lines() {
			s.print("%s\r\n", line)
		}
	case "reinstall":
		s.history.Clear()
	case "insert", "overstrike", "listsize":

	case "exename":
		if !strings.EqualFold(value, "cmd.exe") {
			return s.otherProgram(value)
		}
	case "macrofile":
		return s.macroFile(unquoted(value))
	default:
		s.say("Invalid macro definition.")
		return 1
	}

	return 0
}

// macrosOf lists the macros of a program, or of all of them below their names.
func (s *Shell) macrosOf(program string) int32 {
	switch program {
	case "", "cmd.exe":
		s.listMacros()
	case "all":
		s.print("[cmd.exe]\r\n")
		s.listMacros()
		s.print("\r\n")
	default:
		return s.otherProgram(program)
	}
	return 0
}

// otherProgram refuses macros of another program: the console of this Windows keeps none.
func (s *Shell) otherProgram(name string) int32 {
	s.say("doskey: macros of " + name + " are not kept here, those of cmd.exe are.")
	return 1
}

// macro reads NAME=TEXT.
func (s *Shell) macro(definition string) int32 {
	name, text, is := strings.Cut(definition, "=")
	name = strings.TrimSpace(name)
	if !is || name == "" || strings.ContainsAny(name, " \t") {
		s.say("Invalid macro definition.")
		return 1
	}
	s.macros.set(name, strings.TrimLeft(text, " \t"))
	return 0
}

func (s *Shell) listMacros() {
	for _, name := range s.macros.names {
		s.print("%s=%s\r\n", name, s.macros.texts[name])
	}
}

// macroFile reads macros, one in a line.
func (s *Shell) macroFile(name string) int32 {
	f, err := s.o.Disk.Open(s.full(name), disk.Read)
	if err != nil {
		s.say(err.Error())
		return 1
	}
	defer f.Close()

	code := int32(0)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, ";=") {
			code = max(code, s.macro(line))
		}
	}
	if err := lines.Err(); err != nil {
		s.say(err.Error())
		return 1
	}
	return code
}
