package text

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// Exit codes of comp.
const (
	compSame    = 0
	compDiffers = 1
	compFailed  = 2
)

// mostMismatches is after how many comp stops.
const mostMismatches = 10

// pairs is what comp was asked for (https://learn.microsoft.com/windows-server/administration/windows-commands/comp).
type pairs struct {
	e                    program.Env
	in                   *bufio.Reader
	decimal, chars, once bool
	lines, fold          bool
	first                int // lines, 0: whole files
}

// Comp compares files byte by byte. It asks for names that are missing, and whether it shall go on, unless /M is given;
// the end of the input is no.
func Comp(e program.Env, args []string) int {
	p := &pairs{e: e, in: bufio.NewReader(e.Stdin)}
	var names []string
	for _, arg := range args {
		if !strings.HasPrefix(arg, "/") {
			names = append(names, arg)
			continue
		}
		for one := range strings.SplitSeq(arg[1:], "/") {
			if code, ends := p.option(one); ends {
				return code
			}
		}
	}
	if len(names) > 2 {
		e.Complain("Bad command line syntax")
		return compFailed
	}

	code := compSame
	for {
		one, ok := p.named(names)
		if !ok {
			return code
		}
		if code = p.files(one[0], one[1]); p.once || !p.again() {
			return code
		}
		names = nil
	}
}

// option reads a switch; ends says that the program is over.
func (p *pairs) option(text string) (code int, ends bool) {
	name, value, _ := strings.Cut(strings.ToLower(text), "=")
	switch name {
	case "d":
		p.decimal = true
	case "a":
		p.chars = true
	case "l":
		p.lines = true
	case "c":
		p.fold = true
	case "m":
		p.once = true
	case "off", "offline":

	case "n":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			p.e.Complain("Bad numeric argument")
			return compFailed, true
		}
		p.first = n

	case "?":
		p.e.Print("Compares the contents of two files or sets of files.\r\n\r\n" +
			"COMP [data1] [data2] [/D] [/A] [/L] [/N=number] [/C] [/OFF[LINE]] [/M]\r\n")
		return compSame, true
	default:
		p.e.Complain("Invalid switch - /%s", text)
		return compFailed, true
	}
	return 0, false
}

// named returns the two names, and asks for those that are missing. ok is false if nobody answers.
func (p *pairs) named(names []string) (both [2]string, ok bool) {
	asked := len(names) == 0
	for i, question := range []string{"Name of first file to compare: ", "Name of second file to compare: "} {
		if i < len(names) {
			both[i] = names[i]
			continue
		}
		fmt.Fprint(p.e.Stdout, question)
		line, err := p.in.ReadString('\n')
		if both[i] = strings.TrimSpace(line); both[i] == "" && err != nil {
			p.e.Print("")
			return both, false
		}
	}

	for asked {
		fmt.Fprint(p.e.Stdout, "Option: ")
		line, _ := p.in.ReadString('\n')
		text := strings.TrimPrefix(strings.TrimSpace(line), "/")
		if text == "" {
			break
		}
		if _, wrong := p.option(text); wrong {
			return both, false
		}
	}
	return both, true
}

// again asks whether other files shall be compared.
func (p *pairs) again() bool {
	for {
		fmt.Fprint(p.e.Stdout, "\r\nCompare more files (Y/N) ? ")
		line, err := p.in.ReadString('\n')
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case strings.HasPrefix(answer, "y"):
			return true
		case strings.HasPrefix(answer, "n") || err != nil:
			p.e.Print("")
			return false
		}
	}
}

// files compares the files that a name means with those of the same place in the second name.
func (p *pairs) files(first, second string) int {
	found := []string{first}
	switch info, err := os.Stat(first); {
	case err == nil && info.IsDir():
		found = wildcard.Expand(filepath.Join(first, "*"), false)
	case wildcard.Has(filepath.Base(first)):
		found = wildcard.Expand(first, false)
	}
	if len(found) == 0 {
		p.e.Complain("Can't find/open file: %s", first)
		return compFailed
	}

	code := compSame
	for _, name := range found {
		code = max(code, p.pair(name, p.other(name, second)))
	}
	return code
}

// other returns the file that one is compared with: that of its name in a folder, or with its base in place of a *.
func (p *pairs) other(name, second string) string {
	base := filepath.Base(name)
	if info, err := os.Stat(second); err == nil && info.IsDir() {
		return filepath.Join(second, base)
	}
	folder, pattern := filepath.Split(second)
	if stem, ending, has := strings.Cut(pattern, "*"); has && stem == "" {
		switch {
		case ending == "" || ending == ".*":
			return folder + base
		default:
			return folder + strings.TrimSuffix(base, filepath.Ext(base)) + ending
		}
	}
	return second
}

// pair compares two files.
func (p *pairs) pair(first, second string) int {
	p.e.Print("Comparing %s and %s...", first, second)
	var texts [2][]byte
	for i, name := range []string{first, second} {
		text, err := os.ReadFile(name)
		if err != nil {
			p.e.Complain("Can't find/open file: %s", name)
			return compFailed
		}
		texts[i] = text
	}
	if p.first == 0 && len(texts[0]) != len(texts[1]) {
		p.e.Print("Files are different sizes.")
		return compDiffers
	}

	switch wrong, short := p.mismatches(texts[0], texts[1]); {
	case short:
		p.e.Print("File%d only has %d lines", 1+shorter(texts), 1+bytes.Count(texts[shorter(texts)], []byte("\n")))
		return compDiffers
	case wrong == 0:
		p.e.Print("Files compare OK")
		return compSame
	}
	return compDiffers
}

// shorter returns which of two texts has fewer lines.
func shorter(texts [2][]byte) int {
	if bytes.Count(texts[1], []byte("\n")) < bytes.Count(texts[0], []byte("\n")) {
		return 1
	}
	return 0
}

// mismatches prints the bytes that differ, and counts them. short says that one text ended before the lines that were
// asked for.
func (p *pairs) mismatches(first, second []byte) (wrong int, short bool) {
	line := 1
	for i := range max(len(first), len(second)) {
		if p.first > 0 && line > p.first {
			break
		}
		if i >= len(first) || i >= len(second) {
			return wrong, true
		}

		a, b := first[i], second[i]
		if a != b && (!p.fold || lower(a) != lower(b)) {
			if wrong == mostMismatches {
				p.e.Print("%d mismatches - ending compare", mostMismatches)
				return wrong, false
			}
			wrong++
			p.mismatch(i, line, a, b)
		}
		if a == '\n' {
			line++
		}
	}
	return wrong, false
}

// lower returns the small letter of a capital one of ASCII; other bytes are themselves.
func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func (p *pairs) mismatch(offset, line int, a, b byte) {
	switch {
	case p.lines:
		p.e.Print("Compare error at LINE %d", line)
	case p.decimal:
		p.e.Print("Compare error at OFFSET %d", offset)
	default:
		p.e.Print("Compare error at OFFSET %X", offset)
	}

	format := "%X"
	if p.chars {
		format = "%c"
	} else if p.decimal {
		format = "%d"
	}
	p.e.Print("file1 = "+format, a)
	p.e.Print("file2 = "+format, b)
}
