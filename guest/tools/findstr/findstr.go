// Package findstr owns findstr.exe, which searches texts for strings and for the regular expressions of its own.
package findstr

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of findstr.
const (
	exitFound = 0
	exitNone  = 1
	exitBad   = 2
)

// search holds findstr's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/findstr).
type search struct {
	begin, end, whole, ignoreCase, invert bool
	number, offset, nameOnly, below, text bool
	literal, regular                      bool
	strings                               []string
	listed                                bool // the strings are of /c and /g: literal unless /r says otherwise
	files, dirs                           []string

	patterns []pattern
	named    bool // lines begin with the name of their file
}

// Run prints the lines that hold a string or fit a regular expression.
func Run(e program.Env, args []string) int {
	s, code := parseFindstr(e, args)
	if code >= 0 {
		return code
	}
	out := bufio.NewWriter(e.Stdout)
	defer out.Flush()

	if len(s.files) == 0 {
		if s.scan(out, "", e.Stdin, true) {
			return exitFound
		}
		return exitNone
	}

	found := false
	for _, dir := range s.dirs {
		if dir != "" {
			fmt.Fprintf(out, "  %s:\r\n", strings.TrimSuffix(dir, string(filepath.Separator)))
		}
		for _, name := range s.files {
			if s.scanFiles(e, out, dir+name) {
				found = true
			}
		}
	}
	if found {
		return exitFound
	}

	return exitNone
}

// parseFindstr reads the arguments. The code is negative if there is something to search for.
func parseFindstr(e program.Env, args []string) (s search, code int) {
	s.dirs = []string{""}
	var rest []string
	for _, arg := range args {
		if arg == "/?" || arg == "-?" {
			e.Print("Searches for strings in files.\r\n")
			e.Print(
				"FINDSTR [/B] [/E] [/L] [/R] [/S] [/I] [/X] [/V] [/N] [/M] [/O] [/P] [/F:file]\r\n        [/C:string] [/G:file] [/D:dir list] [/A:color] [/OFF[LINE]]\r\n        strings [[drive:][path]filename[ ...]]")
			return s, exitFound
		}

		if _, is := program.Option(arg); !is {
			rest = append(rest, arg)
			continue
		}
		if code := s.option(e, arg); code >= 0 {
			return s, code
		}
	}

	if len(s.strings) == 0 && !s.listed {
		if len(rest) == 0 {
			e.Complain("FINDSTR: Bad command line")
			return s, exitBad
		}
		s.strings, rest = strings.Fields(rest[0]), rest[1:]
	}

	s.files = append(s.files, rest...)
	if err := s.compile(); err != nil {
		e.Complain("FINDSTR: %v", err)
		return s, exitBad
	}
	s.named = len(s.files) > 1 || s.below
	for _, name := range s.files {
		s.named = s.named || wildcard.Has(name)
	}

	return s, -1
}

// option reads an option, or several letters in one, as findstr does. The code is negative if findstr goes on.
func (s *search) option(e program.Env, arg string) (code int) {
	letter, value, has := strings.Cut(arg[1:], ":")
	if has && len(letter) == 1 {
		return s.valued(e, strings.ToLower(letter), value)
	}
	if name := strings.ToLower(arg[1:]); name == "off" || name == "offline" {
		return -1
	}

	flags := map[rune]*bool{
		'b': &s.begin, 'e': &s.end, 'l': &s.literal, 'r': &s.regular, 's': &s.below, 'i': &s.ignoreCase, 'x': &s.whole,
		'v': &s.invert, 'n': &s.number,
		'm': &s.nameOnly, 'o': &s.offset, 'p': &s.text,
	}

	for _, r := range strings.ToLower(arg[1:]) {
		flag, known := flags[r]
		if !known {
			e.Complain("FINDSTR: /%c ignored", r)
			continue
		}
		*flag = true
	}

	return -1
}

// valued reads an option with a value. The code is negative if findstr goes on.
func (s *search) valued(e program.Env, letter, value string) (code int) {
	switch letter {
	case "c":
		s.strings, s.listed = append(s.strings, value), true
	case "g":
		lines, err := linesOf(e, value)
		if err != nil {
			e.Complain("FINDSTR: Cannot read strings from %s", value)
			return exitBad
		}
		s.strings, s.listed = append(s.strings, lines...), true

	case "f":
		lines, err := linesOf(e, value)
		if err != nil {
			e.Complain("FINDSTR: Cannot read file list from %s", value)
			return exitBad
		}
		s.files, s.named = append(s.files, lines...), true

	case "d":
		s.dirs = nil
		for dir := range strings.SplitSeq(value, ";") {
			if dir != "" {
				s.dirs = append(s.dirs, strings.TrimRight(dir, `\/`)+string(filepath.Separator))
			}
		}

	case "a": // the colour of names on a console
	default:
		e.Complain("FINDSTR: /%s ignored", letter)
	}

	return -1
}

// linesOf returns the lines of a file, or of standard input for /, that are not empty.
func linesOf(e program.Env, name string) ([]string, error) {
	var text []byte
	var err error
	if name == "/" {
		text, err = io.ReadAll(e.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}

	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			lines = append(lines, line)
		}
	}

	return lines, err
}

// compile makes the patterns. Without /l or /r, strings of /c and /g are literal; other strings are regular expressions
// if the first of them has a character with a special meaning.
func (s *search) compile() error {
	regular := s.regular
	if !s.regular && !s.literal && !s.listed {
		regular = hasMeta(s.strings[0])
	}
	for _, text := range s.strings {
		p, err := newPattern(text, regular && !s.literal, s)
		if err != nil {
			return err
		}
		s.patterns = append(s.patterns, p)
	}
	return nil
}

func (s *search) scanFiles(e program.Env, out *bufio.Writer, name string) (found bool) {
	names := []string{name}
	if wildcard.Has(name) || s.below {
		if names = wildcard.Expand(name, s.below); len(names) == 0 && !s.below {
			e.Complain("FINDSTR: Cannot open %s", name)
		}
	}

	for _, one := range names {
		f, err := os.Open(one)
		if err == nil {
			var info os.FileInfo
			if info, err = f.Stat(); err == nil && info.IsDir() {
				err = os.ErrInvalid
			}
		}
		if err != nil {
			e.Complain("FINDSTR: Cannot open %s", one)
			continue
		}

		if s.scan(out, one, f, false) {
			found = true
		}
		_ = f.Close() // it was only read
	}

	return found
}

// scan prints the matching lines of a file. As with findstr, a last line without an end is printed with one; in a pipe
// it also matches like a line with an end.
func (s *search) scan(out *bufio.Writer, name string, from io.Reader, pipe bool) (found bool) {
	lines := bufio.NewReader(from)
	if s.text && !printable(lines) {
		return false
	}

	offset := 0
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return found
		}

		ended := line
		if err != nil && pipe {
			ended = append(bytes.Clone(line), "\r\n"...)
		}
		if s.fits(ended) {
			found = true
			if s.nameOnly {
				out.WriteString(name + "\r\n") //nolint:errcheck // as above
				return true
			}
			s.write(out, name, n, offset, line)
		}

		offset += len(line)
		if err != nil {
			return found
		}
		if pipe && lines.Buffered() == 0 {
			_ = out.Flush() // lines of a slow writer appear at once
		}
	}
}

func (s *search) write(out *bufio.Writer, name string, number, offset int, line []byte) {
	if s.named && name != "" {
		out.WriteString(name + ":") //nolint:errcheck // a reader that went away ends the program
	}
	if s.number {
		fmt.Fprintf(out, "%d:", number)
	}
	if s.offset {
		fmt.Fprintf(out, "%d:", offset)
	}
	out.Write(line) //nolint:errcheck // as above
	if !bytes.HasSuffix(line, []byte("\n")) {
		out.WriteString("\r\n") //nolint:errcheck // as above
	}
}

// fits reports whether a line is to be printed.
func (s *search) fits(line []byte) bool {
	text, newline := bytes.CutSuffix(line, []byte("\n"))
	text, returned := bytes.CutSuffix(text, []byte("\r"))
	for _, p := range s.patterns {
		if p.fits(text, newline && returned) {
			return !s.invert
		}
	}
	return s.invert
}

// printable reports whether a file begins as a text does.
func printable(r *bufio.Reader) bool {
	start, _ := r.Peek(4096) // a shorter file is no fault
	for _, c := range start {
		if c < ' ' && !bytes.ContainsRune([]byte("\a\b\t\n\v\f\r\x1a"), rune(c)) {
			return false
		}
	}
	return true
}
