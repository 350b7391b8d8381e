package screen_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/cli/screen"
)

func TestWidthAndCut(t *testing.T) {
	for _, tt := range []struct {
		text    string
		width   int
		columns int
		cut     string
	}{
		{"", 0, 0, ""},
		{"", 0, 5, ""},
		{"win-1", 5, 5, "win-1"},
		{"win-1", 5, 4, "win…"},
		{"win-1", 5, 1, "…"},
		{"win-1", 5, 0, ""},
		{"größe", 5, 3, "gr…"},
		{"e\u0301a", 2, 2, "e\u0301a"}, // a letter and its accent
		{"窗口", 4, 4, "窗口"},
		{"窗口", 4, 3, "窗…"},
		{"窗口", 4, 2, "…"},
		{"a\u200bb", 2, 2, "a\u200bb"}, // a space without width
	} {
		if got := screen.Width(tt.text); got != tt.width {
			t.Errorf("Width(%q) is %d, want %d", tt.text, got, tt.width)
		}
		if got := screen.Cut(tt.text, tt.columns); got != tt.cut {
			t.Errorf("Cut(%q, %d) is %q, want %q", tt.text, tt.columns, got, tt.cut)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("win-1 窗口 e\u0301 \x1b[31m", 7)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if got := screen.Width(screen.Cut(text, columns)); got > max(columns, 0) {
			t.Errorf("Cut(%q, %d) takes %d columns", text, columns, got)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"a verylongwordindeed b", 6, []string{"a", "verylongwordindeed", "b"}},
		{"  blanks\t between ", 40, []string{"blanks between"}},
	} {
		if diff := cmp.Diff(tt.want, screen.Wrap(tt.text, tt.columns)); diff != "" {
			t.Errorf("%q at %d: %s", tt.text, tt.columns, diff)
		}
	}

	const text = "One paragraph\nin two lines.\n\n  an example that stays whole\n\nAnother."
	const want = "One paragraph\nin two lines.\n\n  an example that stays whole\n\nAnother."
	if diff := cmp.Diff(want, screen.Paragraphs(text, 14)); diff != "" {
		t.Error(diff)
	}

	const table = "  name   what it is and does, in words\n  other  short"
	const broken = "  name   what it is and does, in\n         words\n  other  short"
	if diff := cmp.Diff(broken, screen.Paragraphs(table, 34)); diff != "" {
		t.Error(diff)
	}
	if got := screen.Hang("one two three four five six seven", 60, 80); got != "one two three four five\n"+strings.Repeat(" ", 60)+"six seven" {
		t.Errorf("%q", got)
	}
}

// terminal is what a terminal shows of what is written to it: enough of one for a block.
type terminal struct {
	columns, rows int
	lines         []string // the last one is that of the cursor
}

func (s *terminal) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b["):
			end := strings.IndexAny(text, "AJm")
			switch n := text[2:end]; text[end] {
			case 'A':
				up := 0
				for _, c := range n {
					up = up*10 + int(c-'0')
				}
				s.lines = s.lines[:len(s.lines)-up] // what is below is erased next
			case 'J':
				s.lines[len(s.lines)-1] = ""
			}

			text = text[end+1:]

		case text[0] == '\r':
			text = text[1:]
		case text[0] == '\n':
			s.lines = append(s.lines, "")
			text = text[1:]

		default:
			r := []rune(text)[0]
			last := &s.lines[len(s.lines)-1]
			if screen.Width(*last)+screen.Width(string(r)) > s.columns {
				s.lines = append(s.lines, "")
				last = &s.lines[len(s.lines)-1]
			}
			*last += string(r)
			text = text[len(string(r)):]
		}
	}

	return len(p), nil
}

// resize breaks lines anew, as terminals do.
func (s *terminal) resize(columns int) {
	old := s.lines
	s.lines, s.columns = []string{""}, columns
	for i, l := range old {
		if i > 0 {
			s.lines = append(s.lines, "")
		}
		_, _ = s.Write([]byte(l))
	}
}

// TestBlock draws a block again and again, under lines that stay, on a terminal that becomes narrower and wider.
func TestBlock(t *testing.T) {
	for _, colour := range []bool{false, true} {
		term := &terminal{
			columns: 40,
			rows:    24,
			lines:   []string{""},
		}

		s := screen.New(term, func() screen.Size { return screen.Size{Columns: term.columns, Rows: term.rows} }, colour)
		line := func(mark, text string) screen.Line {
			return screen.Line{
				Mark: mark,
				Tone: screen.Good,
				Text: text,
			}
		}

		shows := func(when string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(append(want, ""), term.lines); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}

		s.Draw([]screen.Line{line("…", "first"), line("…", "second")})
		shows("a block", "…    first", "…    second")
		s.Print(line("ok", "done"))
		shows("a line above it", "ok   done", "…    first", "…    second")
		s.Draw([]screen.Line{line("…", strings.Repeat("long ", 20))})
		shows("fewer rows, one too long", "ok   done", "…    "+strings.Repeat("long ", 6)+"lon…")
		term.resize(15)
		s.Again()
		shows("a narrower terminal", "ok   done", "…    long lon…")

		term.resize(30)
		s.Again()
		shows("a wider one", "ok   done", "…    "+strings.Repeat("long ", 4)+"lon…")
		s.Draw(nil)
		shows("no block", "ok   done")
		s.Print(line("", "the end"))
		shows("a last line", "ok   done", "the end")
	}
}

// TestLowTerminal holds that a block is never higher than the terminal, which could not be drawn again.
func TestLowTerminal(t *testing.T) {
	term := &terminal{
		columns: 40,
		rows:    4,
		lines:   []string{""},
	}

	s := screen.New(term, func() screen.Size { return screen.Size{Columns: term.columns, Rows: term.rows} }, false)
	block := make([]screen.Line, 12)
	for i := range block {
		block[i].Text = strings.Repeat("x", i+1)
	}

	for range 3 {
		s.Draw(block)
	}

	if diff := cmp.Diff([]string{"x", "xx", "xxx", ""}, term.lines); diff != "" {
		t.Error(diff)
	}
	if s.Room(12) != 3 {
		t.Errorf("room for %d rows", s.Room(12))
	}
}

func TestColours(t *testing.T) {
	for colour, want := range map[bool]string{
		true:  "\x1b[32mok\x1b[0m   good\n\x1b[1;31mFAIL\x1b[0m bad\n\x1b[1mwarn\x1b[0m look\n…    plain\nno mark\n",
		false: "ok   good\nFAIL bad\nwarn look\n…    plain\nno mark\n",
	} {
		var out strings.Builder
		screen.New(&out, nil, colour).Print(
			screen.Line{
				Mark: "ok",
				Tone: screen.Good,
				Text: "good",
			}, screen.Line{
				Mark: "FAIL",
				Tone: screen.Bad,
				Text: "bad",
			},
			screen.Line{
				Mark: "warn",
				Tone: screen.Notice,
				Text: "look",
			}, screen.Line{Mark: "…", Text: "plain"},
			screen.Line{Text: "no mark"})

		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("colour %v: %s", colour, diff)
		}
	}
}
