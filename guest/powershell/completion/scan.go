package completion

import (
	"slices"
	"strings"
)

// word is the word at the cursor, as far as it is typed.
type word struct {
	start int    // where it begins in the text, in characters
	text  string // as it is written
	quote rune   // the quotation mark that is open at the cursor, or 0

	before  []string // the words of its command before it
	called  bool     // the call operator is before it
	comment bool     // it is none: it is in a comment
}

// reader reads a text up to the cursor.
type reader struct {
	text  []rune
	at    int
	word  word
	outer []word // the commands around this one, at their brackets
}

// scan finds the word at the end of a text.
func scan(text []rune) word {
	r := &reader{text: text}
	for r.at < len(text) {
		r.read()
	}
	return r.word
}

// read reads a character, or a whole quoted text.
func (r *reader) read() {
	switch c := r.text[r.at]; c {
	case '`':
		r.take(min(2, len(r.text)-r.at))
	case '\'', '"':
		r.quoted(c)
	case '(', '{':
		r.open()
	case ')', '}':
		r.close()
	case ';', '|', '\n':
		r.command(false)
	case ' ', '\t', '\r':
		r.end()
		r.at++
		r.word.start = r.at
	default:
		r.other(c)
	}
}

// other reads a character that has a meaning at some places only.
func (r *reader) other(c rune) {
	switch {
	case c == '#' && r.word.text == "":
		r.skipComment()
	case c == '&' && r.word.text == "":
		r.command(true)
	case c == '=' && len(r.word.before) == 0 && strings.HasPrefix(r.word.text, "$"):
		r.command(false)
	case c == ',' && len(r.word.before) > 0:
		r.at++
		r.word.text, r.word.start = "", r.at
	default:
		r.take(1)
	}
}

// command begins another command behind a character. called says that this is the call operator.
func (r *reader) command(called bool) {
	r.at++
	r.word = word{start: r.at, called: called}
}

// open begins a command in brackets, which belong to a word of the command around them.
func (r *reader) open() {
	r.take(1)
	r.outer = append(r.outer, r.word)
	r.word = word{start: r.at}
}

// close goes back to the word with the bracket. What the brackets hold has become blanks of that word.
func (r *reader) close() {
	if len(r.outer) == 0 {
		r.command(false)
		return
	}

	bracket := string(r.text[r.at])
	r.at++
	inner := r.word
	r.word = r.outer[len(r.outer)-1]
	r.outer = r.outer[:len(r.outer)-1]
	r.word.text += strings.Repeat(" ", max(0, inner.start-r.word.start-len([]rune(r.word.text)))) + bracket
}

// take adds characters to the word.
func (r *reader) take(n int) {
	r.word.text += string(r.text[r.at : r.at+n])
	r.at += n
}

// quoted reads a text in quotation marks, which the cursor may be in.
func (r *reader) quoted(mark rune) {
	r.take(1)
	for r.at < len(r.text) {
		c := r.text[r.at]
		doubled := r.at+1 < len(r.text) && r.text[r.at+1] == mark
		switch {
		case c == mark && doubled, c == '`' && mark == '"' && r.at+1 < len(r.text):
			r.take(2)
		case c == mark:
			r.take(1)
			return
		default:
			r.take(1)
		}
	}
	r.word.quote = mark
}

func (r *reader) skipComment() {
	for r.at < len(r.text) {
		if r.text[r.at] == '\n' {
			return
		}
		r.at++
	}
	r.word.comment = true
}

// beginnings returns the words behind which a command begins.
func beginnings() []string {
	return strings.Fields("if elseif else while do until for foreach switch return throw try catch finally " +
		"begin process end trap function filter in . & = += -= *= /= %=")
}

// end ends a word. Behind a keyword, an assignment or a call operator, a command begins.
func (r *reader) end() {
	text := r.word.text
	r.word.text = ""
	if text == "" {
		return
	}
	if slices.Contains(beginnings(), strings.ToLower(text)) {
		assigns := strings.HasSuffix(text, "=")
		if !assigns || (len(r.word.before) == 1 && strings.HasPrefix(r.word.before[0], "$")) {
			r.word.before, r.word.called = nil, text == "." || text == "&"
			return
		}
	}
	r.word.before = append(slices.Clip(r.word.before), text)
}
