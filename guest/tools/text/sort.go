package text

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mullion.dev/mullion/guest/tools/program"
)

// sorting holds sort's arguments (https://learn.microsoft.com/windows-server/administration/windows-commands/sort).
type sorting struct {
	reverse, unique bool
	column          int // from 1
	input, output   string
}

// Sort writes the lines of a file or of standard input in order, without regard to case.
func Sort(e program.Env, args []string) int {
	s, ok := parseSort(e, args)
	if !ok {
		return 1
	}
	if s.column == 0 { // asked for help
		e.Print("SORT [/R] [/+n] [/UNIQUE] [[drive1:][path1]filename1] [/O [drive3:][path3]filename3]")
		return 0
	}

	var text []byte
	var err error
	if s.input != "" { // nobody has to end the input of a console first
		text, err = os.ReadFile(s.input)
	} else {
		text, err = io.ReadAll(e.Stdin)
	}
	if err != nil {
		e.Complain("%sThe system cannot find the file specified.", s.input)
		return 1
	}

	var b bytes.Buffer
	for _, line := range s.order(textLines(text)) {
		b.WriteString(line + "\r\n")
	}

	if s.output != "" {
		if err := os.WriteFile(s.output, b.Bytes(), 0o666); err != nil {
			e.Complain("%s: %v", s.output, err)
			return 1
		}
		return 0
	}
	_, err = e.Stdout.Write(b.Bytes())
	return map[bool]int{true: 1}[err != nil]
}

func (s sorting) order(lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(s.key(a), s.key(b)) })
	if s.unique {
		lines = slices.CompactFunc(lines, alike)
	}
	if s.reverse {
		slices.Reverse(lines)
	}
	return lines
}

// key returns what a line is compared by: a line that is shorter than the column comes first.
func (s sorting) key(line string) string {
	key := lowered(line)
	for range s.column - 1 {
		_, n := utf8.DecodeRuneInString(key)
		key = key[n:]
	}
	return key
}

func parseSort(e program.Env, args []string) (s sorting, ok bool) {
	if s.column = 1; slices.Contains(args, "/?") {
		s.column = 0
		return s, true
	}

	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		column, isColumn := strings.CutPrefix(name, "+")
		n, err := strconv.Atoi(column)
		takes := slices.Contains([]string{
			"o", "output", "t", "temporary", "rec", "record_maximum", "m", "memory", "l", "locale",
		}, name)
		switch {
		case !is && s.input == "":
			s.input = args[i]
		case slices.Contains([]string{"r", "reverse"}, name):
			s.reverse = true
		case name == "unique":
			s.unique = true
		case is && isColumn && err == nil && n > 0:
			s.column = n
		case is && takes && i+1 < len(args):
			i++
			if name[0] == 'o' {
				s.output = args[i]
			}

		default:
			e.Complain("Invalid switch.")
			return s, false
		}
	}

	return s, true
}
