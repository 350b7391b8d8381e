package fix

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

// text changes a document's text, by indentation and brackets. If it gets something wrong, Apply's proof finds it.
type text struct{ manifest.Chunk }

// edit returns the changed text.
func (t *text) edit(e check.Edit, p parent) ([]byte, bool) {
	at, ok := t.offset(e.Pos)
	if !ok {
		return nil, false
	}

	switch e.Op {
	case check.SetValue:
		return t.replace(at, t.scalarEnd(at), t.scalar(e.Value)), true
	case check.RenameKey:
		return t.replace(at, t.keyEnd(at), t.scalar(e.Key)), true
	case check.RemoveField:
		if !t.startsLine(at) || t.inFlow(at) {
			return t.removeFlow(at)
		}
		return t.removeBlock(at, p)

	case check.InsertField:
		if t.Text[at] == '{' {
			return t.insertFlow(at, e, p)
		}
		return t.insertBlock(at, e, p)
	}

	return nil, false
}

// offset finds the byte at a place.
func (t *text) offset(pos manifest.Pos) (int, bool) {
	at := 0
	for line := t.Line; line < pos.Line; line++ {
		n := bytes.IndexByte(t.Text[at:], '\n')
		if n < 0 {
			return 0, false
		}
		at += n + 1
	}

	for column := 1; column < pos.Column; column++ {
		if at >= len(t.Text) || t.Text[at] == '\n' {
			return 0, false
		}
		_, size := utf8.DecodeRune(t.Text[at:])
		at += size
	}

	return at, at < len(t.Text)
}

func (t *text) replace(from, to int, with string) []byte {
	return append(append(append([]byte{}, t.Text[:from]...), with...), t.Text[to:]...)
}

// json reports whether the document is JSON, so that inserted text must be JSON too.
func (t *text) json() bool { return json.Valid(t.Text) }

// scalar writes a value of an edit.
func (t *text) scalar(value string) string {
	if !t.json() {
		return value
	}
	n, ok := valueOf(value)
	if !ok {
		return value
	}
	return n
}

// valueOf renders YAML in flow style as JSON.
func valueOf(text string) (string, bool) {
	n, ok := value(text)
	if !ok {
		return "", false
	}
	var b strings.Builder
	write(&b, n)
	return b.String(), true
}

func write(b *strings.Builder, n *manifest.Node) {
	quote := func(s string) {
		q, _ := json.Marshal(s) // a string always has a form
		b.Write(q)
	}

	switch n.Kind {
	case manifest.Map:
		for i, f := range n.Fields {
			b.WriteString([]string{", ", "{"}[btoi(i == 0)])
			quote(f.Key)
			b.WriteString(": ")
			write(b, f.Value)
		}
		b.WriteString([]string{"}", "{}"}[btoi(len(n.Fields) == 0)])

	case manifest.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			write(b, item)
		}
		b.WriteByte(']')

	case manifest.String:
		quote(n.Value)
	case manifest.Null:
		b.WriteString("null")
	default:
		b.WriteString(n.Value)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *text) lineStart(at int) int { return bytes.LastIndexByte(t.Text[:at], '\n') + 1 }

// lineEnd returns the place after the line's end.
func (t *text) lineEnd(at int) int {
	if n := bytes.IndexByte(t.Text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(t.Text)
}

// startsLine reports whether only spaces and the dashes of lists are before at on its line.
func (t *text) startsLine(at int) bool {
	return len(bytes.Trim(t.Text[t.lineStart(at):at], " -")) == 0
}

// inFlow reports whether a bracket is open at at.
func (t *text) inFlow(at int) bool {
	depth := 0
	for i := 0; i < at; {
		switch t.Text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i = t.skip(i)
	}
	return depth > 0
}

// skip returns the place after one character, one quoted scalar or one comment.
func (t *text) skip(i int) int {
	c := t.Text[i]
	begins := i == 0 || strings.IndexByte(" \t\r\n,[]{}:", t.Text[i-1]) >= 0
	switch {
	case (c == '"' || c == '\'') && begins:
		return t.quotedEnd(i)
	case c == '#' && (i == 0 || strings.IndexByte(" \t\n", t.Text[i-1]) >= 0):
		if n := bytes.IndexByte(t.Text[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(t.Text)
	}
	return i + 1
}

func (t *text) quotedEnd(i int) int {
	q := t.Text[i]
	for i++; i < len(t.Text); i++ {
		switch {
		case q == '"' && t.Text[i] == '\\':
			i++
		case q == '\'' && t.Text[i] == '\'' && i+1 < len(t.Text) && t.Text[i+1] == '\'':
			i++
		case t.Text[i] == q:
			return i + 1
		}
	}
	return len(t.Text)
}

// keyEnd returns the place after a key.
func (t *text) keyEnd(at int) int {
	if c := t.Text[at]; c == '"' || c == '\'' {
		return t.quotedEnd(at)
	}
	for i := at; i < len(t.Text); i++ {
		if t.Text[i] == ':' && (i+1 == len(t.Text) || strings.IndexByte(" \t\r\n", t.Text[i+1]) >= 0) {
			return i
		}
	}
	return len(t.Text)
}

// scalarEnd returns the place after a scalar of one line.
func (t *text) scalarEnd(at int) int {
	if c := t.Text[at]; c == '"' || c == '\'' {
		return t.quotedEnd(at)
	}
	flow := t.inFlow(at)
	i := at
	for ; i < len(t.Text) && t.Text[i] != '\n'; i++ {
		c := t.Text[i]
		if (flow && strings.IndexByte(",]}", c) >= 0) || (c == '#' && i > at &&
			(t.Text[i-1] == ' ' || t.Text[i-1] == '\t')) {
			break
		}
	}
	return at + len(bytes.TrimRight(t.Text[at:i], " \t\r"))
}

// blockEnd returns the place after the last line of the block field whose key is at at: the lines that follow and are
// indented deeper, or are items of a list at the key's own column. Comments and blank lines after the last of them
// stay.
func (t *text) blockEnd(at int) int {
	indent := at - t.lineStart(at)
	end := t.lineEnd(at)
	for i := end; i < len(t.Text); i = t.lineEnd(i) {
		line := t.Text[i:t.lineEnd(i)]
		rest := bytes.TrimLeft(line, " ")
		depth := len(line) - len(rest)
		rest = bytes.TrimSpace(rest)
		if len(rest) == 0 || (rest[0] == '#' && depth <= indent) {
			continue
		}

		dash := bytes.HasPrefix(rest, []byte("- ")) || string(rest) == "-"
		if depth < indent || (depth == indent && !dash) {
			break
		}
		end = t.lineEnd(i)
	}

	return end
}

// removeBlock takes out a field of block style.
func (t *text) removeBlock(at int, p parent) ([]byte, bool) {
	end, start := t.blockEnd(at), t.lineStart(at)
	dash := len(bytes.TrimLeft(t.Text[start:at], " ")) > 0
	switch {
	case p.count == 1 && dash:
		return t.replace(at, end, "{}"+t.newline()), true
	case p.count == 1 && p.key == nil:
		return t.replace(at, end, "{}"+t.newline()), true
	case p.count == 1:
		key, ok := t.offset(p.key.Pos)
		if !ok {
			return nil, false
		}
		colon := t.keyEnd(key) + 1
		if colon > start {
			return nil, false
		}
		out := t.replace(start, end, "")
		return append(append(append([]byte{}, out[:colon]...), " {}"...), out[colon:]...), true

	case dash: // the next field moves up to the dash
		next := end
		for next < len(t.Text) && (t.Text[next] == ' ' || t.Text[next] == '\n' || t.Text[next] == '\r') {
			next++
		}
		return t.replace(at, next, ""), true
	}

	return t.replace(start, end, ""), true
}

func (t *text) newline() string {
	if bytes.Contains(t.Text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// flowEnd returns the place of the comma or bracket that ends the flow field at at.
func (t *text) flowEnd(at int) int {
	depth := 0
	for i := at; i < len(t.Text); {
		switch c := t.Text[i]; {
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return i
		case c == '}' || c == ']':
			depth--
		}
		i = t.skip(i)
	}
	return len(t.Text)
}

// removeFlow takes a field out of a map in flow style, with one comma.
func (t *text) removeFlow(at int) ([]byte, bool) {
	end := t.flowEnd(at)
	if end == len(t.Text) {
		return nil, false
	}

	before := len(bytes.TrimRight(t.Text[:at], " \t\r\n"))
	if t.Text[end] == ',' {
		end++
		for end < len(t.Text) && (t.Text[end] == ' ' || t.Text[end] == '\t') {
			end++
		}
		if rest := bytes.TrimLeft(t.Text[end:], "\r"); len(rest) > 0 && rest[0] == '\n' && t.startsLine(at) {
			return t.replace(t.lineStart(at), t.lineEnd(end), ""), true
		}
		return t.replace(at, end, ""), true
	}

	if before > 0 && t.Text[before-1] == ',' {
		before--
	}
	value := len(bytes.TrimRight(t.Text[:end], " \t\r\n"))
	if t.Text[before] != ',' {
		return t.replace(before, end, ""), true // it was the only one
	}
	return t.replace(before, value, ""), true
}

// insertFlow adds a field at the end of a map in flow style.
func (t *text) insertFlow(at int, e check.Edit, p parent) ([]byte, bool) {
	end := t.flowEnd(at + 1)
	if end == len(t.Text) {
		return nil, false
	}
	for t.Text[end] == ',' {
		if end = t.flowEnd(end + 1); end == len(t.Text) {
			return nil, false
		}
	}

	field := t.scalar(e.Key) + ": " + t.scalar(e.Value)
	if p.count == 0 {
		return t.replace(at+1, end, field), true
	}
	last := len(bytes.TrimRight(t.Text[:end], " \t\r\n"))
	between := ", "
	if first, ok := t.offset(p.last.Pos); ok && bytes.IndexByte(t.Text[last:end], '\n') >= 0 && t.startsLine(first) {
		between = "," + t.newline() + string(t.Text[t.lineStart(first):first])
	}

	if t.Text[last-1] == ',' {
		between = between[1:]
	}
	return t.replace(last, last, between+field), true
}

// insertBlock adds a field at the end of a map in block style.
func (t *text) insertBlock(at int, e check.Edit, p parent) ([]byte, bool) {
	last, ok := t.offset(p.last.Pos)
	if p.count == 0 || !ok {
		return nil, false
	}
	end := t.blockEnd(last)
	before := ""
	if !bytes.HasSuffix(t.Text[:end], []byte("\n")) {
		before = t.newline()
	}
	line := strings.Repeat(" ", at-t.lineStart(at)) + e.Key + ": " + e.Value + t.newline()
	return t.replace(end, end, before+line), true
}
