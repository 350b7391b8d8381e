package lineedit

import (
	"strings"
	"unicode/utf16"
)

// screen is where a line stands on its terminal.
type screen struct {
	first   Place // the cell of its first character
	columns int
	shown   int // how many cells it had when it was drawn last
}

// usualColumns is how many columns a terminal has that says none, as one without a size (TIOCSWINSZ of 0) does.
const usualColumns = 80

// stand returns where the terminal's cursor is, and how many columns it has.
func (l *line) stand() (at Place, columns int, err error) {
	at, columns, err = l.e.Terminal.Cursor()
	if columns <= 0 {
		columns = usualColumns
	}
	return at, columns, err
}

// begin prints the prompt and the line behind it.
func (l *line) begin() error {
	t := l.e.Terminal
	if err := t.Write(l.prompt); err != nil {
		return err
	}
	at, columns, err := l.stand()
	if err != nil {
		return err
	}
	l.screen = screen{first: at, columns: columns}
	return l.draw(0)
}

// draw writes the line from a character on, and nothing behind it.
func (l *line) draw(from int) error {
	t := l.e.Terminal
	_, columns, err := l.stand()
	if err != nil {
		return err
	}
	if columns != l.columns { // the window has another size: nobody knows where the line has gone
		if err := t.Write("\r\n"); err != nil {
			return err
		}
		return l.begin()
	}

	if len(l.text) == 0 && l.shown == 0 {
		return nil
	}
	length := cells(l.text)
	for from < len(l.text) && l.cell(cells(l.text[:from])).Row < 0 { // it has gone above the first row
		from++
	}
	rest := l.drawn(from) + strings.Repeat(" ", max(0, l.shown-length))
	if err := t.Move(l.visible(from)); err != nil {
		return err
	}
	if err := t.Write(rest); err != nil {
		return err
	}

	at, _, err := t.Cursor()
	if err != nil {
		return err
	}
	end := l.cell(max(length, l.shown))
	l.first.Row -= end.Row - at.Row // by as many rows the terminal has moved up
	l.shown = length
	return l.place()
}

// drawn returns what is shown of the line from a character on.
func (l *line) drawn(from int) string {
	if mask := l.e.Mask; mask != 0 {
		return strings.Repeat(string(mask), cells(l.text[from:]))
	}
	return string(l.text[from:])
}

// place moves the terminal's cursor to that of the line.
func (l *line) place() error { return l.e.Terminal.Move(l.visible(l.cursor)) }

// visible returns the place of a character, or the first one of the terminal if it has gone above that.
func (l *line) visible(at int) Place {
	p := l.cell(cells(l.text[:at]))
	if p.Row < 0 {
		return Place{}
	}
	return p
}

// leave ends the line with a text behind it, and goes to the next row.
func (l *line) leave(with string) error {
	if err := l.e.Terminal.Move(l.visible(len(l.text))); err != nil {
		return err
	}
	return l.e.Terminal.Write(with + "\r\n")
}

// cell returns the place that is so many cells behind the line's first.
func (l *line) cell(behind int) Place {
	n := l.first.Column + behind
	return Place{Column: n % l.columns, Row: l.first.Row + n/l.columns}
}

// cells returns how many cells a text has.
func cells(text []rune) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
