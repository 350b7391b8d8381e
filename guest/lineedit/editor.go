package lineedit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Completion is what may stand at a place of a line.
type Completion struct {
	// Start and End bound what is replaced, in characters of the line.
	Start, End int
	// Matches are the texts that may take its place, the best one first.
	Matches []string
}

// Place is a cell of a terminal: its column and row, from 0.
type Place struct{ Column, Row int }

// Terminal is where a person types. A character is as many cells as it has units of UTF-16, as in Windows' console.
type Terminal interface {
	// Key waits for a key.
	Key() (Key, error)
	// Write writes a text at the cursor. It goes on in the next row behind the last column, and moves the rows up
	// behind the last one.
	Write(text string) error
	// Cursor returns where the cursor is, and how many columns the terminal has now.
	Cursor() (at Place, columns int, err error)
	Move(to Place) error
	// Clear empties the terminal, with the cursor in its first cell.
	Clear() error
}

// mostTyped bounds a line, in characters: more is not taken.
const mostTyped = 32 << 10

// Editor reads lines from a terminal.
type Editor struct {
	Terminal Terminal
	History  *History
	// Complete returns what may stand at a place of a line, in characters; nil: there is no completion.
	Complete func(line string, cursor int) Completion
	// Ends says that F6 or Ctrl+Z, and then Enter, end what is typed, as where a program reads the console as a file.
	// Wine's console gives no key for the Ctrl+Z of a Linux terminal.
	Ends bool
	// Mask is shown in place of each character, for a password; 0: the characters are.
	Mask rune
}

// line is one line while it is edited.
type line struct {
	e      *Editor
	prompt string
	screen

	text   []rune
	cursor int // in text

	at    int    // in the history
	typed []rune // before the history was looked at

	cycle *cycle // of completions, nil: the last key was another one
}

// cycle is a round of Tab through the completions of one place.
type cycle struct {
	Completion
	before []rune // the line without one
	chosen int
}

// Read prints a prompt and reads a line. After Ctrl+C the error is ErrInterrupted, and io.EOF comes with the last line
// of an editor that ends.
func (e *Editor) Read(prompt string) (string, error) {
	l := &line{
		e:      e,
		prompt: prompt,
		at:     len(e.History.lines),
	}
	if err := l.begin(); err != nil {
		return "", err
	}

	for {
		k, err := e.Terminal.Key()
		if err != nil {
			return "", err
		}
		if k.Interrupts() {
			if err := l.leave("^C"); err != nil {
				return "", err
			}
			return "", ErrInterrupted
		}

		if e.Ends && k.ends() {
			return string(l.text), l.ends()
		}
		if k.named() == Enter {
			if err := l.leave(""); err != nil {
				return "", err
			}
			e.History.Add(string(l.text))
			return string(l.text), nil
		}

		if err := l.press(k); err != nil {
			return "", err
		}
	}
}

// ends shows that what is typed ends, and waits for Enter.
func (l *line) ends() error {
	if err := errors.Join(l.e.Terminal.Move(l.visible(len(l.text))), l.e.Terminal.Write("^Z")); err != nil {
		return err
	}
	for {
		k, err := l.e.Terminal.Key()
		switch {
		case err != nil:
			return err
		case k.Interrupts():
			return errors.Join(l.e.Terminal.Write("^C\r\n"), ErrInterrupted)
		case k.named() == Enter:
			return cmp.Or(l.e.Terminal.Write("\r\n"), io.EOF)
		}
	}
}

// press does what a key means.
func (l *line) press(k Key) error {
	code := k.named()
	if code != Tab {
		l.cycle = nil
	}

	switch {
	case code == Tab && !k.Ctrl && !k.Alt:
		return l.complete(k.Shift)
	case k.lists():
		return l.list()
	case k.control() && code == 'L':
		return l.clear()
	case code == F7:
		return l.history(k.Alt)
	case k.types():
		return l.insert([]rune{k.Rune})
	}

	if to, moves := l.moved(k); moves {
		l.cursor = to
		return l.place()
	}
	if from, to, removes := l.removed(k); removes {
		return l.replace(from, to, nil)
	}
	return l.recall(k)
}

// history shows the lines of the history, or forgets them.
func (l *line) history(forget bool) error {
	if forget {
		l.e.History.Clear()
		l.at = 0
		return nil
	}
	return l.tell(numbered(l.e.History.lines))
}

// moved returns where a key moves the cursor.
func (l *line) moved(k Key) (to int, moves bool) {
	control := k.control()
	switch k.named() {
	case Left:
		if control {
			return l.wordBefore(), true
		}
		return max(0, l.cursor-1), true
	case Right:
		if control {
			return l.wordAfter(), true
		}
		return min(len(l.text), l.cursor+1), true
	case Home:
		return 0, !control
	case End:
		return len(l.text), !control
	}
	return 0, false
}

// removed returns what a key takes away.
func (l *line) removed(k Key) (from, to int, removes bool) {
	control := k.control()
	switch code := k.named(); {
	case code == Escape:
		l.at = len(l.e.History.lines)
		return 0, len(l.text), true
	case code == Backspace && control, code == 'W' && control:
		return l.wordBefore(), l.cursor, true
	case code == Backspace:
		return max(0, l.cursor-1), l.cursor, true
	case code == Delete && control:
		return l.cursor, l.wordAfter(), true
	case code == Delete:
		return l.cursor, min(len(l.text), l.cursor+1), true
	case code == Home && control:
		return 0, l.cursor, true
	case code == End && control:
		return l.cursor, len(l.text), true
	}
	return 0, 0, false
}

// recall brings a line of the history, or a character of the last one.
func (l *line) recall(k Key) error {
	lines := l.e.History.lines
	switch k.named() {
	case Up, F5:
		if at, there := l.e.History.before(l.at, ""); there {
			return l.show(at)
		}
	case Down:
		if l.at < len(lines) {
			return l.show(l.at + 1)
		}
	case F8:
		prefix, cursor := string(l.text[:l.cursor]), l.cursor
		if at, there := l.e.History.before(l.at, prefix); there {
			if err := l.show(at); err != nil {
				return err
			}
			l.cursor = min(cursor, len(l.text))
			return l.place()
		}
	case F1, F3: // the next character of the last line, or all that it has beyond this place
		if len(lines) == 0 {
			return nil
		}
		last := []rune(lines[len(lines)-1])
		if len(l.text) >= len(last) || l.cursor != len(l.text) {
			return nil
		}

		to := len(last)
		if k.named() == F1 {
			to = len(l.text) + 1
		}
		return l.insert(last[len(l.text):to])
	}
	return nil
}

// show puts a line of the history in place of this one. Behind the newest is what was typed.
func (l *line) show(at int) error {
	lines := l.e.History.lines
	if l.at == len(lines) {
		l.typed = append([]rune(nil), l.text...)
	}
	l.at = at
	text := l.typed
	if at < len(lines) {
		text = []rune(lines[at])
	}
	return l.replace(0, len(l.text), text)
}

func (l *line) insert(text []rune) error {
	if len(l.text)+len(text) > mostTyped {
		return nil
	}
	return l.replace(l.cursor, l.cursor, text)
}

// replace puts a text in place of a part, with the cursor behind it.
func (l *line) replace(from, to int, text []rune) error {
	rest := append([]rune(nil), l.text[to:]...)
	l.text = append(append(l.text[:from:from], text...), rest...)
	l.cursor = from + len(text)
	return l.draw(from)
}

// wordBefore returns where the word before the cursor begins.
func (l *line) wordBefore() int {
	at := l.cursor
	for at > 0 && !wordly(l.text[at-1]) {
		at--
	}
	for at > 0 && wordly(l.text[at-1]) {
		at--
	}
	return at
}

// wordAfter returns where the next word begins.
func (l *line) wordAfter() int {
	at := l.cursor
	for at < len(l.text) && wordly(l.text[at]) {
		at++
	}
	for at < len(l.text) && !wordly(l.text[at]) {
		at++
	}
	return at
}

func wordly(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// complete puts the next completion, or the one before, in its place.
func (l *line) complete(back bool) error {
	if l.cycle == nil {
		c := l.completion()
		if len(c.Matches) == 0 {
			return nil
		}
		l.cycle = &cycle{
			Completion: c,
			before:     append([]rune(nil), l.text...),
			chosen:     -1,
		}
		if back {
			l.cycle.chosen = 0
		}
	}

	c := l.cycle
	step := 1
	if back {
		step = len(c.Matches) - 1
	}
	c.chosen = (c.chosen + step) % len(c.Matches)
	match := []rune(c.Matches[c.chosen])
	if len(c.before)+len(match) > mostTyped {
		return nil
	}
	l.text = append(append(c.before[:c.Start:c.Start], match...), c.before[c.End:]...)
	l.cursor = c.Start + len(match)
	return l.draw(c.Start)
}

// completion returns the completions at the cursor, whose bounds are within the line.
func (l *line) completion() Completion {
	if l.e.Complete == nil {
		return Completion{}
	}
	c := l.e.Complete(string(l.text), l.cursor)
	if c.Start < 0 || c.Start > c.End || c.End > len(l.text) {
		return Completion{}
	}
	return c
}

// list shows all completions at the cursor, as PSReadLine's PossibleCompletions.
func (l *line) list() error {
	return l.tell(l.completion().Matches)
}

// tell shows texts below the line, and then the line once more.
func (l *line) tell(texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	if err := l.leave(""); err != nil {
		return err
	}
	if err := l.e.Terminal.Write(strings.Join(texts, "\r\n") + "\r\n"); err != nil {
		return err
	}
	return l.begin()
}

func (l *line) clear() error {
	if err := l.e.Terminal.Clear(); err != nil {
		return err
	}
	return l.begin()
}

// numbered are the lines of a history, as the window of F7 shows them.
func numbered(lines []string) []string {
	texts := make([]string, len(lines))
	for i, one := range lines {
		texts[i] = fmt.Sprintf("%d: %s", i, one)
	}
	return texts
}
