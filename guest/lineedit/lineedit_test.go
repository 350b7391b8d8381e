package lineedit

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// fake is a terminal of rows of cells, as Windows' console is one.
type fake struct {
	keys    []Key
	cells   [][]uint16
	at      Place
	columns int
	resize  map[int]int // to so many columns, when so many keys are left
}

func newFake(columns, rows int, keys ...Key) *fake {
	f := &fake{keys: keys, columns: columns}
	for range rows {
		f.cells = append(f.cells, f.row())
	}
	return f
}

func (f *fake) row() []uint16 { return slices.Repeat([]uint16{' '}, f.columns) }

func (f *fake) Key() (Key, error) {
	if to := f.resize[len(f.keys)]; to != 0 && to != f.columns {
		f.columns = to
		for i := range f.cells {
			f.cells[i] = append(f.cells[i], f.row()...)[:to]
		}
		f.at.Column = min(f.at.Column, to-1)
	}
	if len(f.keys) == 0 {
		return Key{}, io.EOF
	}
	k := f.keys[0]
	f.keys = f.keys[1:]
	return k, nil
}

func (f *fake) Write(text string) error {
	for _, u := range utf16.Encode([]rune(text)) {
		switch u {
		case '\r':
			f.at.Column = 0
			continue
		case '\n':
			f.down()
			continue
		}

		f.cells[f.at.Row][f.at.Column] = u
		if f.at.Column++; f.at.Column == f.columns {
			f.at.Column = 0
			f.down()
		}
	}
	return nil
}

func (f *fake) down() {
	if f.at.Row++; f.at.Row == len(f.cells) {
		f.cells = append(f.cells[1:], f.row())
		f.at.Row--
	}
}

func (f *fake) Cursor() (Place, int, error) { return f.at, f.columns, nil }

func (f *fake) Move(to Place) error {
	if to.Row < 0 || to.Row >= len(f.cells) || to.Column < 0 || to.Column >= f.columns {
		return errors.New("no such cell")
	}
	f.at = to
	return nil
}

func (f *fake) Clear() error {
	for i := range f.cells {
		f.cells[i] = f.row()
	}
	f.at = Place{}
	return nil
}

// shown are the rows without the blanks behind them, and without the empty ones at the end.
func (f *fake) shown() string {
	var rows []string
	for _, row := range f.cells {
		rows = append(rows, strings.TrimRight(string(utf16.Decode(row)), " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// press returns the keys that a text stands for: <Name> is a key by its name, C- is with Ctrl, S- with Shift, A- with
// Alt.
func press(text string) []Key {
	names := map[string]Code{
		"Left": Left, "Right": Right, "Up": Up, "Down": Down, "Home": Home, "End": End, "Del": Delete, "Back": Backspace,
		"Esc": Escape, "Tab": Tab, "F1": F1, "F3": F3, "F5": F5, "F6": F6, "F7": F7, "F8": F8, "Space": Space, "Enter": Enter,
	}
	var keys []Key
	for text != "" {
		name, rest, named := strings.Cut(strings.TrimPrefix(text, "<"), ">")
		if text[0] != '<' || !named {
			r, size := utf8.DecodeRuneInString(text)
			keys = append(keys, Key{Rune: r})
			text = text[size:]
			continue
		}

		text = rest
		var k Key
		for len(name) > 2 && name[1] == '-' {
			k.Ctrl = k.Ctrl || name[0] == 'C'
			k.Alt = k.Alt || name[0] == 'A'
			k.Shift = k.Shift || name[0] == 'S'
			name = name[2:]
		}
		k.Code = names[name]
		if len(name) == 1 {
			k.Code = Code(name[0])
		}
		keys = append(keys, k)
	}
	return keys
}

// TestKeys: what is typed, the line that comes of it, and what the terminal shows. The keys are those of PSReadLine's
// Windows mode and of Windows' console.
func TestKeys(t *testing.T) {
	for name, tt := range map[string]struct{ keys, want, shown string }{
		"characters":            {"dir\r", "dir", "> dir"},
		"other letters":         {"äö€😀\r", "äö€😀", "> äö€😀"},
		"in the middle":         {"helo<Left>l\r", "hello", "> hello"},
		"backspace":             {"abx<Back>c\r", "abc", "> abc"},
		"delete":                {"axbc<Home><Right><Del>\r", "abc", "> abc"},
		"home and end":          {"bc<Home>a<End>d\r", "abcd", "> abcd"},
		"escape":                {"nonsense<Esc>ls\r", "ls", "> ls"},
		"word to the left":      {"Get-Item x<C-Left>y\r", "Get-Item yx", "> Get-Item yx"},
		"word to the right":     {"a b c<Home><C-Right>x\r", "a xb c", "> a xb c"},
		"a word away":           {"Get-Item<C-Back>Process\r", "Get-Process", "> Get-Process"},
		"a word away, ahead":    {"a b<Home><C-Del>\r", "b", "> b"},
		"what is before":        {"abc<Left><C-Home>\r", "c", "> c"},
		"what is behind":        {"abc<Left><C-End>\r", "ab", "> ab"},
		"no key too far":        {"<Left><Right><Back><Del><Down>a<Right><Right>b\r", "ab", "> ab"},
		"longer than a row":     {"12345678901234567890\r", "12345678901234567890", "> 123456789012\n34567890"},
		"and in its first row":  {"12345678901234567890<Home>x\r", "x12345678901234567890", "> x12345678901\n234567890"},
		"and shorter again":     {"123456789012345<Back><Back><Back><Back>\r", "12345678901", "> 12345678901"},
		"up":                    {"<Up>\r", "second", "> second"},
		"up twice":              {"<Up><Up>\r", "first", "> first"},
		"up, too far":           {"<Up><Up><Up><Up>\r", "first", "> first"},
		"back to what is typed": {"new<Up><Up><Down><Down>er\r", "newer", "> newer"},
		"by its beginning":      {"f<F8>\r", "first", "> first"},
		"not by another one":    {"zz<F8>\r", "zz", "> zz"},
		"the last line":         {"<F3>\r", "second", "> second"},
		"the rest of it":        {"th<F3>\r", "thcond", "> thcond"},
		"its next character":    {"<F1><F1>\r", "se", "> se"},
		"nothing known of it":   {"a<C-Q><F5><C-R>\r", "second", "> second"},
		"AltGr makes characters": {
			"a<C-A-Q>b\r", "ab", "> ab",
		},
		"completion": {"Get-Co<Tab>\r", "Get-Command", "> Get-Command"},
		"the next":   {"Get-Co<Tab><Tab>\r", "Get-Content", "> Get-Content"},
		"around":     {"Get-Co<Tab><Tab><Tab>\r", "Get-Command", "> Get-Command"},
		"the last":   {"Get-Co<S-Tab>\r", "Get-Content", "> Get-Content"},
		"no match":   {"zz<Tab>\r", "zz", "> zz"},
		"goes on":    {"Get-Co<Tab> x\r", "Get-Command x", "> Get-Command\nx"},
		"all of them": {
			"Get-Co<C-Space>\r", "Get-Co", "> Get-Co\nGet-Command\nGet-Content\n> Get-Co",
		},
		"all lines":    {"a<F7>\r", "a", "> a\n0: first\n1: second\n> a"},
		"none left":    {"<A-F7><Up>\r", "", ">"},
		"a new screen": {"abc<C-L>\r", "abc", "> abc"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(14, 6, press(tt.keys)...)
			e := &Editor{
				Terminal: f,
				History:  &History{},
				Complete: commands,
			}
			e.History.Add("first")
			e.History.Add("second")
			got, err := e.Read("> ")
			if err != nil || got != tt.want {
				t.Errorf("the line is %q, %v, want %q", got, err, tt.want)
			}
			if diff := cmp.Diff(tt.shown, f.shown()); diff != "" {
				t.Errorf("the terminal shows (-want +got):\n%s", diff)
			}
		})
	}
}

func commands(line string, cursor int) Completion {
	c := Completion{Start: 0, End: cursor}
	for _, name := range []string{"Get-Command", "Get-Content"} {
		if strings.HasPrefix(name, line[:cursor]) {
			c.Matches = append(c.Matches, name)
		}
	}
	return c
}

// TestInterrupt: Ctrl+C gives the line up, and it is in no history.
func TestInterrupt(t *testing.T) {
	for _, key := range []Key{{Code: 'C', Ctrl: true}, {Rune: 0x03}} {
		f := newFake(20, 5, append(press("abc"), key)...)
		e := &Editor{Terminal: f, History: &History{}}
		if _, err := e.Read("> "); !errors.Is(err, ErrInterrupted) {
			t.Errorf("%v, want %v", err, ErrInterrupted)
		}
		if got, lines := f.shown(), e.History.Lines(); got != "> abc^C" || len(lines) > 0 {
			t.Errorf("the terminal shows %q, the history has %q", got, lines)
		}
	}
}

// TestEnds: Ctrl+Z and Enter end what is typed, with the line that they are in. Without Ends they do not.
func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		keys, line, shown string
		err               error
	}{
		{"<C-Z>x\r", "", "> ^Z", io.EOF},
		{"ab\x1a\r", "ab", "> ab^Z", io.EOF},
		{"ab<F6>\r", "ab", "> ab^Z", io.EOF},
		{"ab<Left><C-Z>\r", "ab", "> ab^Z", io.EOF},
		{"ab<C-Z><C-C>", "ab", "> ab^Z^C", ErrInterrupted},
		{"ab\r", "ab", "> ab", nil},
	} {
		f := newFake(20, 5, press(tt.keys)...)
		e := &Editor{Terminal: f, History: &History{}}
		e.Ends = true
		got, err := e.Read("> ")
		if got != tt.line || !errors.Is(err, tt.err) || f.shown() != tt.shown {
			t.Errorf("%s: %q, %v; the terminal shows %q", tt.keys, got, err, f.shown())
		}
	}

	f := newFake(20, 5, press("ab<C-Z>\r")...)
	if got, err := (&Editor{Terminal: f, History: &History{}}).Read("> "); got != "ab" || err != nil {
		t.Errorf("a prompt: %q, %v", got, err)
	}
}

// TestScrolling: a line that begins in the last row is drawn in its place when the rows move up.
func TestScrolling(t *testing.T) {
	f := newFake(10, 3, press("1234567890123<Home>x<Back>\r")...)
	if err := f.Write("one\r\ntwo\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := (&Editor{Terminal: f, History: &History{}}).Read("> ")
	if want := "> 12345678\n90123"; err != nil || got != "1234567890123" || f.shown() != want {
		t.Errorf("%q, %v; the terminal shows %q, want %q", got, err, f.shown(), want)
	}
}

// TestResize: a line whose window gets another width is shown anew.
func TestResize(t *testing.T) {
	f := newFake(10, 5, press("abcdef\r")...)
	f.resize = map[int]int{3: 30}
	got, err := (&Editor{Terminal: f, History: &History{}}).Read("> ")
	if want := "> abcd\n> abcdef"; err != nil || got != "abcdef" || f.shown() != want {
		t.Errorf("%q, %v; the terminal shows %q, want %q", got, err, f.shown(), want)
	}
}

// TestEnd: a terminal that is gone ends the line.
func TestEnd(t *testing.T) {
	if _, err := (&Editor{Terminal: newFake(10, 3), History: &History{}}).Read("> "); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want %v", err, io.EOF)
	}
}

func TestHistory(t *testing.T) {
	h := &History{}
	for _, line := range []string{"a", "a", " ", "", "b", "a"} {
		h.Add(line)
	}
	if diff := cmp.Diff([]string{"a", "b", "a"}, h.Lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range mostLines {
		h.Add("x")
		h.Add("y")
	}
	if n := len(h.Lines()); n != mostLines {
		t.Errorf("%d lines, want %d", n, mostLines)
	}
}

// FuzzKeys presses any keys on small terminals: whatever is pressed, the cursor stays on the terminal and the line is
// what it shows.
func FuzzKeys(f *testing.F) {
	f.Add("Get-Co<Tab><Left>x<Up><Home><C-Del>", uint8(7), uint8(3))
	f.Add("12345678901234567890<Home>x<C-L><F7>", uint8(10), uint8(2))
	f.Fuzz(func(t *testing.T, keys string, columns, rows uint8) {
		if len(keys) > 500 {
			return
		}
		term := newFake(3+int(columns)%40, 2+int(rows)%10, press(keys)...)
		e := &Editor{Terminal: term, History: &History{}, Complete: func(line string, cursor int) Completion {
			return Completion{
				Start:   cursor / 2,
				End:     cursor,
				Matches: []string{"a", line, "longer than before"},
			}
		}}
		e.History.Add("first")
		if _, err := e.Read("> "); err != nil && !errors.Is(err, ErrInterrupted) && !errors.Is(err, io.EOF) {
			t.Errorf("keys %q: %v", keys, err)
		}
	})
}

// sizeless is a terminal that says no size.
type sizeless struct{ *fake }

func (s sizeless) Cursor() (Place, int, error) {
	at, _, err := s.fake.Cursor()
	return at, 0, err
}

// TestNoColumns: a line is read from a terminal that says that it has no columns.
func TestNoColumns(t *testing.T) {
	f := newFake(20, 4, Key{Rune: 'a'}, Key{Rune: 'b'}, Key{Code: Enter, Rune: '\r'})
	e := Editor{Terminal: sizeless{f}, History: &History{}}
	if got, err := e.Read("> "); err != nil || got != "ab" {
		t.Errorf("%q, %v", got, err)
	}
}
