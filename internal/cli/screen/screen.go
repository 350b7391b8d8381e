package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Tone is what a mark at the beginning of a line says, for those who see colours.
type Tone int

// Tones of a mark.
const (
	Plain  Tone = iota
	Good        // green
	Bad         // red, bold
	Notice      // bold
)

// Line is a line with a mark at its beginning.
type Line struct {
	Mark string
	Tone Tone
	Text string
	// Row says that the line is one of a table, and is cut to the width of a terminal, if there is one. Lines of a
	// block always are.
	Row bool
}

// markColumns are what marks take, with the blank behind them.
const markColumns = 5

// Size is a terminal's; zero where it is not known.
type Size struct{ Columns, Rows int }

// DefaultColumns are those of something that is no terminal, or does not say.
const DefaultColumns = 80

// Screen is where lines go.
type Screen struct {
	out io.Writer
	// size is nil where the output is no terminal whose lines can be drawn again.
	size   func() Size
	colour bool

	mu    sync.Mutex
	block []Line // what is to be seen below all other lines
	drawn []int  // the widths of the lines of the block that is there
}

// New returns a screen. size is nil where nothing can be drawn again.
func New(out io.Writer, size func() Size, colour bool) *Screen {
	return &Screen{
		out:    out,
		size:   size,
		colour: colour,
	}
}

// Live says that blocks are drawn.
func (s *Screen) Live() bool { return s.size != nil }

// Columns returns how wide the screen is.
func (s *Screen) Columns() int {
	if s.size != nil {
		if n := s.size().Columns; n > 0 {
			return n
		}
	}
	return DefaultColumns
}

// rows returns how high the screen is; a terminal that does not say is taken for an old one.
func (s *Screen) rows() int {
	const old = 24
	if n := s.size().Rows; n > 0 {
		return n
	}
	return old
}

// Print writes lines that stay, above the block if there is one. On a terminal they are broken between words, but for
// those that begin with a blank.
func (s *Screen) Print(lines ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	s.erase(&b)
	for _, l := range lines {
		b.WriteString(s.lasting(l) + "\n")
	}
	s.draw(&b)
	_, _ = io.WriteString(s.out, b.String()) // there is nobody to tell
}

// Draw puts another block in place of the one that is there. Without a terminal it does nothing.
func (s *Screen) Draw(block []Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block = block
	s.again()
}

// Again draws the block anew, as the terminal may have another size.
func (s *Screen) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again()
}

// Room returns how many rows a block can have, of those that it may have.
func (s *Screen) Room(most int) int {
	if s.size == nil {
		return most
	}
	return max(min(most, s.rows()-1), 1) // the cursor is below the block
}

func (s *Screen) again() {
	if s.size == nil {
		return
	}
	var b strings.Builder
	s.erase(&b)
	s.draw(&b)
	_, _ = io.WriteString(s.out, b.String()) // there is nobody to tell
}

// erase removes the block, whose lines are broken where the terminal has become narrower since.
func (s *Screen) erase(b *strings.Builder) {
	if len(s.drawn) == 0 {
		return
	}
	columns, up := s.Columns(), 0
	for _, n := range s.drawn {
		up += max((n+columns-1)/columns, 1)
	}
	fmt.Fprintf(b, "\x1b[%dA\r\x1b[J", min(up, s.rows()-1))
	s.drawn = nil
}

func (s *Screen) draw(b *strings.Builder) {
	if s.size == nil {
		return
	}
	columns := s.Columns() - 1 // the last one makes some terminals begin a new line
	block := s.block[:min(len(s.block), s.Room(len(s.block)))]
	for _, l := range block {
		b.WriteString(s.styled(l, columns) + "\n")
		s.drawn = append(s.drawn, min(Width(whole(l)), columns))
	}
}

// lasting returns a line that stays, as it is written.
func (s *Screen) lasting(l Line) string {
	switch {
	case s.size == nil:
		return s.styled(l, 0)
	case l.Row:
		return s.styled(l, s.Columns()-1)
	case l.Mark != "":
		return s.styled(l, 0)
	}

	var lines []string
	for line := range strings.SplitSeq(l.Text, "\n") {
		if line != "" && line[0] != ' ' {
			line = strings.Join(Wrap(line, s.Columns()-1), "\n")
		}
		lines = append(lines, line)
	}

	return strings.Join(lines, "\n")
}

// whole returns the text of a line, with its mark.
func whole(l Line) string {
	if l.Mark == "" {
		return l.Text
	}
	return Pad(l.Mark, markColumns) + l.Text
}

// styled returns a line as it is written: cut to so many columns, or not if they are 0.
func (s *Screen) styled(l Line, columns int) string {
	text := strings.TrimRight(whole(l), " ")
	if columns > 0 {
		text = Cut(text, columns)
	}
	rest, ok := strings.CutPrefix(text, l.Mark)
	if !s.colour || !ok || l.Mark == "" || l.Tone == Plain {
		return text
	}
	return Paint(l.Mark, l.Tone) + rest
}

// Paint returns a text in its tone's colour.
func Paint(text string, tone Tone) string {
	code := map[Tone]string{Good: "32", Bad: "1;31", Notice: "1"}[tone]
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
