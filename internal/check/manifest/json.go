package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// jsonParser reads JSON (RFC 8259) into nodes. encoding/json gives no positions of values.
type jsonParser struct {
	*builder
	text []byte
	off  int

	// the position of text[at], which only moves forward
	at  int
	pos Pos
}

var errJSONSyntax = errors.New("not JSON")

// parseJSON reads all values of a text. It fails with errJSONSyntax and the place.
func parseJSON(b *builder, c Chunk) ([]*Node, Pos, error) {
	p := &jsonParser{
		builder: b,
		text:    c.Text,
		pos:     Pos{Line: c.Line, Column: 1},
	}

	var nodes []*Node
	for p.space(); p.off < len(p.text); p.space() {
		n, _, err := p.value(0)
		if err != nil {
			return nil, p.here(), err
		}
		nodes = append(nodes, n)
	}

	return nodes, Pos{}, nil
}

// here returns the position of the next byte.
func (p *jsonParser) here() Pos {
	for p.at < p.off {
		if p.text[p.at] == '\n' {
			p.pos.Line, p.pos.Column = p.pos.Line+1, 1
			p.at++
			continue
		}
		_, size := utf8.DecodeRune(p.text[p.at:])
		p.at += size
		p.pos.Column++
	}
	return p.pos
}

func (p *jsonParser) space() {
	for p.off < len(p.text) {
		switch p.text[p.off] {
		case ' ', '\t', '\r', '\n':
			p.off++
		default:
			return
		}
	}
}

// eat skips white space and, if it is next, the byte b, and reports whether it was.
func (p *jsonParser) eat(b byte) bool {
	p.space()
	if p.off < len(p.text) && p.text[p.off] == b {
		p.off++
		return true
	}
	return false
}

// value reads one value; size is the number of its nodes.
func (p *jsonParser) value(depth int) (n *Node, size int, err error) {
	p.space()
	if p.off >= len(p.text) {
		return nil, 0, fmt.Errorf("%w: the text ends in the middle of a value", errJSONSyntax)
	}
	if depth > maxDepth {
		return nil, 0, fmt.Errorf("more than %d values inside each other", maxDepth)
	}

	n = &Node{Pos: p.here()}
	switch p.text[p.off] {
	case '{':
		size, err = p.object(n, depth)
	case '[':
		size, err = p.array(n, depth)
	case '"':
		n.Kind = String
		n.Value, err = p.str()
		size = 1

	default:
		size, err = 1, p.literal(n)
	}

	return n, size, err
}

func (p *jsonParser) object(n *Node, depth int) (int, error) {
	n.Kind = Map
	p.off++
	if p.eat('}') {
		return 1, nil
	}

	size := 1
	for {
		p.space()
		f := Field{Pos: p.here()}
		var err error
		if f.Key, err = p.str(); err != nil {
			return size, err
		}
		if !p.eat(':') {
			return size, fmt.Errorf("%w: a colon is missing after the key %q", errJSONSyntax, f.Key)
		}

		var s int
		if f.Value, s, err = p.value(depth + 1); err != nil {
			return size, err
		}
		if size += s; size > maxNodes {
			return size, errTooManyNodes()
		}

		p.addField(n, f)
		if p.eat('}') {
			return size, nil
		}
		if !p.eat(',') {
			return size, fmt.Errorf("%w: a comma or a closing brace is missing", errJSONSyntax)
		}
	}
}

func (p *jsonParser) array(n *Node, depth int) (int, error) {
	n.Kind = List
	p.off++
	if p.eat(']') {
		return 1, nil
	}

	size := 1
	for {
		item, s, err := p.value(depth + 1)
		if err != nil {
			return size, err
		}
		if size += s; size > maxNodes {
			return size, errTooManyNodes()
		}

		n.Items = append(n.Items, item)
		if p.eat(']') {
			return size, nil
		}
		if !p.eat(',') {
			return size, fmt.Errorf("%w: a comma or a closing bracket is missing", errJSONSyntax)
		}
	}
}

// str reads a string, which has to be next.
func (p *jsonParser) str() (string, error) {
	if p.off >= len(p.text) || p.text[p.off] != '"' {
		return "", fmt.Errorf("%w: a string in double quotes is expected", errJSONSyntax)
	}

	plain := true
	for end := p.off + 1; end < len(p.text); end++ {
		switch b := p.text[end]; {
		case b == '\\':
			plain = false
			end++

		case b < ' ':
			return "", fmt.Errorf("%w: a control character in a string", errJSONSyntax)
		case b == '"':
			quoted := p.text[p.off : end+1]
			if plain {
				p.off = end + 1
				return string(quoted[1 : len(quoted)-1]), nil
			}
			var s string
			if err := json.Unmarshal(quoted, &s); err != nil {
				return "", fmt.Errorf("%w: %w", errJSONSyntax, err)
			}

			p.off = end + 1
			return s, nil
		}
	}

	return "", fmt.Errorf("%w: a string does not end", errJSONSyntax)
}

// literal reads true, false, null or a number.
func (p *jsonParser) literal(n *Node) error {
	end := p.off
	for end < len(p.text) && (p.text[end] == '+' || p.text[end] == '-' || p.text[end] == '.' ||
		(p.text[end] >= '0' && p.text[end] <= '9') || (p.text[end]|0x20 >= 'a' && p.text[end]|0x20 <= 'z')) {
		end++
	}

	word := p.text[p.off:end]
	switch string(word) {
	case "true", "false":
		n.Kind, n.Value = Bool, string(word)
	case "null":
		n.Kind = Null
	default:
		if len(word) == 0 || !json.Valid(word) {
			return fmt.Errorf("%w: no value begins with %.20q", errJSONSyntax,
				p.text[p.off:min(len(p.text), max(end, p.off+1))])
		}
		n.Kind, n.Value = Number, string(word)
	}

	p.off = end
	return nil
}
