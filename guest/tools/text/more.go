package text

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"mullion.dev/mullion/guest/tools/program"
)

// Screen is the console that a program's output fills.
type Screen interface {
	// Size returns how many columns and rows its window has, 0 if the output goes elsewhere.
	Size() (columns, rows int)
	// Key waits for a key that has a character, whatever the program's input is.
	Key() (rune, error)
}

// pager holds more's arguments (https://learn.microsoft.com/windows-server/administration/windows-commands/more).
type pager struct {
	screen  Screen
	room    int  // rows that are left on the page
	ended   bool // nobody wants to see more
	from    int  // the first line, from 1
	tab     int
	squeeze bool
	files   []string
}

// More prints files, or its input, with spaces for tabs. On a screen it waits after each page.
func More(e program.Env, screen Screen, args []string) int {
	p := pager{
		screen: screen,
		from:   1,
		tab:    8,
	}
	for _, arg := range args {
		if name, is := program.Option(arg); is && name == "?" {
			moreUsage(e)
			return 0
		}
		if !p.take(arg) {
			e.Complain("Unrecognized switch - '%s'", arg)
			return 1
		}
	}

	_, rows := screen.Size()
	p.room = rows - 1
	if len(p.files) == 0 {
		p.show(e, e.Stdin)
		return 0
	}

	code := 0
	for _, name := range p.files {
		file, err := os.Open(name)
		if err != nil {
			e.Complain("Cannot access file %s", name)
			code = 1
			continue
		}
		p.show(e, file)
		_ = file.Close() // it was only read
		if p.ended {
			break
		}
	}

	return code
}

func moreUsage(e program.Env) {
	e.Print("Displays output one screen at a time.")
	e.Print("")
	e.Print("MORE [/E [/C] [/P] [/S] [/Tn] [+n]] < [drive:][path]filename")
	e.Print("command-name | MORE [/E [/C] [/P] [/S] [/Tn] [+n]]")
	e.Print("MORE /E [/C] [/P] [/S] [/Tn] [+n] [files]")
}

// take takes an argument, if there is such an option.
func (p *pager) take(arg string) bool {
	name, is := program.Option(arg)
	line, plus := strings.CutPrefix(arg, "+")
	if n, err := strconv.Atoi(line); plus && err == nil && n >= 0 {
		p.from = n + 1
		return true
	}

	if !is {
		p.files = append(p.files, arg)
		return true
	}
	if name == "s" {
		p.squeeze = true
		return true
	}

	if width, tabs := strings.CutPrefix(name, "t"); tabs {
		n, err := strconv.Atoi(width)
		p.tab = n
		return err == nil && n >= 0
	}

	return name == "e" || name == "p" || name == "c"
}

// show prints one text from the first line that is asked for.
func (p *pager) show(e program.Env, text io.Reader) {
	lines := bufio.NewReader(text)
	empty := false
	for n := 1; !p.ended; n++ {
		line, err := lines.ReadString('\n')
		if line == "" && err != nil {
			return
		}

		line = strings.TrimRight(line, "\r\n")
		again := empty && line == ""
		empty = line == ""
		if n < p.from || (p.squeeze && again) {
			continue
		}
		if line = p.expand(line); p.fits(e, line) {
			e.Print("%s", line)
		}
	}
}

// Keys that more takes for other than a page.
const (
	ctrlC = 3
	enter = '\r'
)

// fits waits until there is room on the screen for a line: Enter makes some for one line, q ends, and any other key
// begins a page. It reports whether the line is to be shown.
func (p *pager) fits(e program.Env, line string) bool {
	columns, rows := p.screen.Size()
	if columns < 1 {
		return true
	}
	needs := 1 + max(0, utf8.RuneCountInString(line)-1)/columns
	if p.room < min(needs, rows-1) { // a line that no page has room for begins one
		const asks = "-- More  --"
		fmt.Fprint(e.Stdout, asks)
		key, err := p.screen.Key()
		fmt.Fprint(e.Stdout, "\r"+strings.Repeat(" ", len(asks))+"\r")
		switch {
		case err != nil, key == ctrlC, key == 'q', key == 'Q':
			p.ended = true
			return false
		case key == enter:
			p.room = needs
		default:
			p.room = rows - 1
		}
	}

	p.room -= needs
	return true
}

// expand puts spaces in the place of tabs.
func (p *pager) expand(line string) string {
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}

		if p.tab > 0 {
			n := p.tab - column%p.tab
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
	}

	return b.String()
}
