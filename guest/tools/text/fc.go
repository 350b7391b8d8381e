package text

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mullion.dev/mullion/guest/tools/program"
)

// Exit codes of fc.
const (
	fcSame    = 0
	fcDiffers = 1
	fcMissing = 2
	fcBad     = -1
)

// defaultTab is how many spaces a tab stands for.
const defaultTab = 8

// comparison holds fc's arguments (https://learn.microsoft.com/windows-server/administration/windows-commands/fc).
type comparison struct {
	binary, ascii                               bool
	short, ignoreCase, numbers, keepTabs, white bool
	// how many equal lines count as the texts being the same again, and within how many lines they are searched
	again, buffer int
	names         []string
}

// FC compares two files.
func FC(e program.Env, args []string) int {
	c, code := parseFC(e, args)
	if code != fcSame || c.names == nil {
		return code
	}

	var texts [2][]byte
	for i, name := range c.names {
		text, err := os.ReadFile(name)
		if err != nil {
			e.Complain("FC: cannot open %s - No such file or folder\r\n", name)
			return fcMissing
		}
		texts[i] = text
	}

	e.Print("Comparing files %s and %s", c.names[0], strings.ToUpper(c.names[1]))
	same := false
	if c.binary || (!c.ascii && isProgram(c.names[0])) {
		same = c.bytes(e, texts)
	} else {
		same = c.lines(e, [2][]string{textLines(texts[0]), textLines(texts[1])})
	}
	if same {
		e.Print("FC: no differences encountered\r\n")
		return fcSame
	}

	e.Print("")
	return fcDiffers
}

// isProgram reports whether fc compares a file as bytes even without /b.
func isProgram(name string) bool {
	return slices.Contains([]string{".exe", ".com", ".sys", ".obj", ".lib", ".bin"},
		strings.ToLower(filepath.Ext(name)))
}

func parseFC(e program.Env, args []string) (c comparison, code int) {
	c.again, c.buffer = 2, 100
	flags := map[string]*bool{
		"b": &c.binary, "l": &c.ascii, "a": &c.short, "c": &c.ignoreCase, "n": &c.numbers, "t": &c.keepTabs,
		"w": &c.white, "off": new(bool), "offline": new(bool),
	}

	var names []string
	for _, arg := range args {
		name, is := program.Option(arg)
		lines, isBuffer := strings.CutPrefix(name, "lb")
		number, err := strconv.Atoi(strings.TrimPrefix(lines, "lb"))
		switch {
		case !is:
			names = append(names, arg)
		case name == "?":
			e.Print("FC [/A] [/C] [/L] [/LBn] [/N] [/OFF[LINE]] [/T] [/W] [/nnnn] file1 file2\r\nFC /B file1 file2")
			return c, fcSame

		case flags[name] != nil:
			*flags[name] = true
		case isBuffer && err == nil && number > 0:
			c.buffer = number
		case err == nil && number > 0:
			c.again = number
		default:
			e.Complain("FC: Invalid Switch\r\n")
			return c, fcBad
		}
	}

	return c.withNames(e, names)
}

// withNames checks that there are two files, and options that go together.
func (c comparison) withNames(e program.Env, names []string) (comparison, int) {
	switch {
	case len(names) < 2:
		e.Complain("FC: Insufficient number of file specifications\r\n")
		return c, fcBad
	case len(names) > 2 || (c.binary && (c.short || c.numbers || c.ascii)):
		e.Complain("FC: Incompatible Switches\r\n")
		return c, fcBad
	}
	c.names = names
	return c, fcSame
}

// bytes prints each byte in which the files differ.
func (c comparison) bytes(e program.Env, texts [2][]byte) (same bool) {
	same = bytes.Equal(texts[0], texts[1])
	for i := range min(len(texts[0]), len(texts[1])) {
		if texts[0][i] != texts[1][i] {
			e.Print("%08X: %02X %02X", i, texts[0][i], texts[1][i])
		}
	}
	for i, other := range []int{1, 0} {
		if len(texts[i]) > len(texts[other]) {
			e.Print("FC: %s longer than %s\r\n", c.name(i), c.name(other))
		}
	}
	return same
}

// name returns a file's name as fc prints it: the second in capitals.
func (c comparison) name(i int) string {
	if i == 1 {
		return strings.ToUpper(c.names[1])
	}
	return c.names[0]
}

func textLines(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	return lines
}

// spaces puts spaces in the place of tabs.
func spaces(line string, tab int) string {
	if tab <= 0 || !strings.Contains(line, "\t") {
		return line
	}

	var out strings.Builder
	column := 0
	for at, r := range line {
		if r != '\t' {
			_, n := utf8.DecodeRuneInString(line[at:])
			out.WriteString(line[at : at+n]) // a byte that is no UTF-8 is itself
			column++
			continue
		}
		n := tab - column%tab
		out.WriteString(strings.Repeat(" ", n))
		column += n
	}

	return out.String()
}

func (c comparison) equal(a, b string) bool {
	if c.white {
		a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	} else if !c.keepTabs {
		a, b = spaces(a, defaultTab), spaces(b, defaultTab)
	}
	if c.ignoreCase {
		return alike(a, b)
	}
	return a == b
}

// alike reports whether two texts differ in the case of letters alone. Bytes of one that is no UTF-8 are themselves:
// for strings.EqualFold they all are the same character.
func alike(a, b string) bool {
	if utf8.ValidString(a) && utf8.ValidString(b) {
		return strings.EqualFold(a, b)
	}
	return lowered(a) == lowered(b)
}

// lowered returns a text with small letters for the capital ones, of ASCII alone if it is no UTF-8.
func lowered(text string) string {
	if utf8.ValidString(text) {
		return strings.ToLower(text)
	}
	small := []byte(text)
	for i, b := range small {
		small[i] = lower(b)
	}
	return string(small)
}

// lines prints the parts in which the texts differ, each with the line before it and the one after.
func (c comparison) lines(e program.Env, texts [2][]string) (same bool) {
	same = true
	at := [2]int{}
	for at[0] < len(texts[0]) || at[1] < len(texts[1]) {
		if c.agree(texts, at, 1) {
			at[0]++
			at[1]++
			continue
		}

		same = false
		next, found := c.resync(texts, at)
		if !found {
			e.Print("Resync Failed.  Files are too different.")
			next = [2]int{len(texts[0]), len(texts[1])}
		}

		for i, lines := range texts {
			e.Print("***** %s", c.name(i))
			c.part(e, lines, max(at[i]-1, 0), min(next[i]+1, len(lines)))
		}

		e.Print("*****\r\n")
		at = next
	}

	return same
}

// agree reports whether the n lines from at on are the same.
func (c comparison) agree(texts [2][]string, at [2]int, n int) bool {
	for i := range n {
		a, b := at[0]+i, at[1]+i
		if a == len(texts[0]) && b == len(texts[1]) && i > 0 {
			return true // both end
		}
		if a >= len(texts[0]) || b >= len(texts[1]) || !c.equal(texts[0][a], texts[1][b]) {
			return false
		}
	}
	return true
}

// resync finds the nearest lines from which the texts are the same again.
func (c comparison) resync(texts [2][]string, at [2]int) (next [2]int, found bool) {
	for distance := 1; distance <= 2*c.buffer; distance++ {
		for first := max(0, distance-c.buffer); first <= min(distance, c.buffer); first++ {
			next = [2]int{at[0] + first, at[1] + distance - first}
			if next[0] > len(texts[0]) || next[1] > len(texts[1]) {
				continue
			}
			if (next[0] == len(texts[0]) && next[1] == len(texts[1])) || c.agree(texts, next, c.again) {
				return next, true
			}
		}
	}
	return next, false
}

func (c comparison) part(e program.Env, lines []string, from, to int) {
	for i := from; i < to; i++ {
		if c.short && i > from && i < to-1 {
			if i == from+1 {
				e.Print("...")
			}
			continue
		}
		prefix := ""
		if c.numbers {
			prefix = fmt.Sprintf("%5d:  ", i+1)
		}
		e.Print("%s%s", prefix, lines[i])
	}
}
