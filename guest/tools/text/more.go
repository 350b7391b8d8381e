package text

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
)

// pager holds more's arguments (https://learn.microsoft.com/windows-server/administration/windows-commands/more).
type pager struct {
	from    int // the first line, from 1
	tab     int
	squeeze bool
	files   []string
}

// More prints files, or its input, with spaces for tabs. It does not wait after each page: nobody may be there.
func More(e program.Env, args []string) int {
	p := pager{from: 1, tab: 8}
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
func (p pager) show(e program.Env, text io.Reader) {
	lines := bufio.NewReader(text)
	empty := false
	for n := 1; ; n++ {
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
		e.Print("%s", p.expand(line))
	}
}

// expand puts spaces in the place of tabs.
func (p pager) expand(line string) string {
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
