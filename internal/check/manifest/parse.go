package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Bounds of one document. kubectl and the API server have bounds of their own, which are lower.
const (
	maxDepth  = 1000
	maxNodes  = 4 << 20 // each alias counts as a copy of its anchor's value
	maxFaults = 20
)

// Fault is an error of YAML or JSON in a document. Fatal says that nothing of the document was read; otherwise the rest
// of it was.
type Fault struct {
	Pos
	Fatal bool
	// Unlisted says that all was read, and that only what is said of it ends here.
	Unlisted bool
	Message  string
	// Remedy says what to do, "" if that is not known.
	Remedy string
}

// Parse reads a chunk: one node for a YAML document, one for each JSON value. Faults are in no particular order.
func Parse(c Chunk) (nodes []*Node, faults []Fault) {
	b := &builder{line: c.Line - 1}
	defer func() {
		if r := recover(); r != nil { // a defect of the YAML library must not end the check of everything else
			nodes = nil
			faults = append(b.faults, Fault{
				Pos:     Pos{c.Line, 1},
				Fatal:   true,
				Message: fmt.Sprintf("the YAML library stopped: %v", r),
			})
		}
	}()

	if f, bad := notText(c); bad {
		return nil, []Fault{f}
	}

	first := bytes.TrimSpace(c.Text)
	if len(first) > 0 && (first[0] == '{' || first[0] == '[') {
		values, _, err := parseJSON(b, c)
		if err == nil {
			return values, b.faults
		}
		b = &builder{line: c.Line - 1} // YAML, whose flow style looks like JSON
	}

	b.starts = lineStarts(c)
	n, err := b.document(c)
	if err != nil {
		b.faults = append(b.faults, b.explain(c, err))
		return nil, b.faults
	}
	if n == nil || n.Kind == Null {
		return nil, b.faults
	}

	return []*Node{n}, b.faults
}

// notText returns a fault for a document that is no text or too large.
func notText(c Chunk) (Fault, bool) {
	f := Fault{Pos: Pos{c.Line, 1}, Fatal: true}
	switch {
	case c.TooBig:
		f.Message = fmt.Sprintf("the document is longer than %d MiB", MaxDocument>>20)
		f.Remedy = "split it; Kubernetes itself takes objects of 3 MiB at most"
		return f, true
	case bytes.HasPrefix(c.Text, []byte("\xff\xfe")), bytes.HasPrefix(c.Text, []byte("\xfe\xff")):
		f.Message, f.Remedy = "the text is UTF-16", "save it as UTF-8; in PowerShell: … | Out-File -Encoding utf8"
		return f, true
	}

	at := bytes.IndexByte(c.Text, 0)
	if at < 0 && !utf8.Valid(c.Text) {
		for at = 0; ; {
			r, size := utf8.DecodeRune(c.Text[at:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			at += size
		}
	}
	if at < 0 {
		return f, false
	}

	before := c.Text[:at]
	f.Line += bytes.Count(before, []byte("\n"))
	f.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	f.Message = fmt.Sprintf("byte 0x%02x: this is no text in UTF-8", c.Text[at])
	return f, true
}

// placedError is an error at a place.
type placedError struct {
	Pos
	err error
}

func (e *placedError) Error() string { return e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

func errTooManyNodes() error {
	return fmt.Errorf("more than %d values, aliases counted as what they stand for", maxNodes)
}

// helmAction matches the template actions that Helm charts are made of.
var helmAction = lazyregexp.New(
	`\{\{-?\s*(\.|\$|/\*|(if|else|end|range|with|define|block|template|include|tpl|toYaml|default|quote|printf|required|fail|lookup)\b)`)

// helmValue matches the actions that only Helm has among the users of {{ }}.
var helmValue = lazyregexp.New(`\{\{-?\s*(\.(Values|Release|Chart|Capabilities)\b|include\s)`)

const helmRemedy = "render it first: `helm template NAME CHART | mullion check -`"

var yamlLine = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

// explain turns the error of an unreadable document into a fault.
func (b *builder) explain(c Chunk, err error) Fault {
	f := Fault{
		Pos:     Pos{c.Line, 1},
		Fatal:   true,
		Message: err.Error(),
	}

	if placed, ok := errors.AsType[*placedError](err); ok {
		f.Pos = placed.Pos
	} else if m := yamlLine.FindStringSubmatch(f.Message); m != nil {
		f.Message = f.Message[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.Line = b.place(n, 1).Line
		}
		f.Column = firstColumn(c, f.Line)
	}

	if at := helmAction.FindIndex(c.Text); at != nil {
		before := c.Text[:at[0]]
		f.Line = c.Line + bytes.Count(before, []byte("\n"))
		f.Column = utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		f.Message, f.Remedy = "this is a Helm template that has not been rendered, and no YAML", helmRemedy
		return f
	}

	for i, line := range bytes.Split(c.Text, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if at := bytes.IndexByte(indent, '\t'); at >= 0 && c.Line+i >= f.Line-1 {
			f.Line, f.Column = c.Line+i, at+1
			f.Message, f.Remedy = "a tab in the indentation", "YAML takes spaces only"
			break
		}
	}

	return f
}

// firstColumn returns where the text of a line begins.
func firstColumn(c Chunk, line int) int {
	for text := range bytes.Lines(c.Text) {
		if line == c.Line {
			return len(text) - len(bytes.TrimLeft(text, " \t")) + 1
		}
		line--
	}
	return 1
}

// builder makes nodes of a document.
type builder struct {
	line   int   // lines before the document
	starts []Pos // where the lines of YAML begin, if they are not those of the file
	faults []Fault
	made   map[*yaml.Node]built     // the values of anchors that are made already
	index  map[*Node]map[string]int // the keys of wide maps
}

type built struct {
	node *Node
	size int
}

// document reads one YAML document; it returns nil without an error for an empty one.
func (b *builder) document(c Chunk) (*Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(c.Text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil // documented
	}
	n, _, err := b.node(doc.Content[0], 0)
	return n, err
}

func (b *builder) pos(y *yaml.Node) Pos { return b.place(y.Line, y.Column) }

// place returns the place in the file of a line and column of YAML.
func (b *builder) place(line, column int) Pos {
	if b.starts == nil || line < 1 {
		return Pos{Line: b.line + line, Column: column}
	}
	if line > len(b.starts) { // the library puts a missing value behind the end
		return b.starts[len(b.starts)-1]
	}
	start := b.starts[line-1]
	return Pos{Line: start.Line, Column: start.Column + column - 1}
}

// lineStarts returns where the lines of YAML begin in a chunk. YAML 1.1 also ends lines at a lone carriage return and
// at three Unicode characters, at which editors do not. nil: the chunk has none of these.
func lineStarts(c Chunk) []Pos {
	const breaks = "\u0085\u2028\u2029"
	cr := bytes.Count(c.Text, []byte("\r")) != bytes.Count(c.Text, []byte("\r\n"))
	if !cr && !bytes.ContainsAny(c.Text, breaks) {
		return nil
	}

	at := Pos{c.Line, 1}
	starts := []Pos{at}
	text := []rune(string(c.Text))
	for i, r := range text {
		at.Column++
		switch {
		case r == '\n':
			at = Pos{at.Line + 1, 1}
		case r == '\r' && (i+1 == len(text) || text[i+1] != '\n'), strings.ContainsRune(breaks, r):
		default:
			continue
		}

		starts = append(starts, at)
	}

	return starts
}

func (b *builder) fault(at Pos, message, remedy string) {
	if len(b.faults) < maxFaults {
		b.faults = append(b.faults, Fault{
			Pos:     at,
			Message: message,
			Remedy:  remedy,
		})
	}
}

// node converts one YAML node; size is the number of values in it, including those behind aliases.
func (b *builder) node(y *yaml.Node, depth int) (n *Node, size int, err error) {
	if depth > maxDepth {
		return nil, 0, &placedError{b.pos(y), fmt.Errorf("more than %d values inside each other", maxDepth)}
	}

	if y.Kind == yaml.AliasNode {
		got, ok := b.made[y.Alias]
		if !ok || got.node == nil {
			return nil, 0, &placedError{
				b.pos(y),
				fmt.Errorf("the alias *%s stands for a value that it is part of", y.Value),
			}
		}
		return got.node, got.size, nil
	}

	n = &Node{Pos: b.pos(y)}
	size = 1
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Map
		size, err = b.fields(n, y, depth)

	case yaml.SequenceNode:
		n.Kind = List
		n.Items = make([]*Node, 0, len(y.Content))
		for _, item := range y.Content {
			child, s, err := b.node(item, depth+1)
			if err != nil {
				return nil, 0, err
			}
			size += s
			n.Items = append(n.Items, child)
		}

	default:
		b.scalar(n, y)
	}
	if err == nil && size > maxNodes {
		err = &placedError{n.Pos, errTooManyNodes()}
	}
	if y.Anchor != "" && err == nil {
		if b.made == nil {
			b.made = map[*yaml.Node]built{}
		}
		b.made[y] = built{n, size}
	}

	return n, size, err
}

// fields converts a map, with the keys that "<<" merges into it.
func (b *builder) fields(n *Node, y *yaml.Node, depth int) (int, error) {
	size := 1
	n.Fields = make([]Field, 0, len(y.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return size, &placedError{b.pos(y.Content[i]), errors.New("a key of a map has to be a scalar")}
		}

		value, s, err := b.node(y.Content[i+1], depth+1)
		if err != nil {
			return size, err
		}
		if size += s; size > maxNodes {
			return size, &placedError{n.Pos, errTooManyNodes()}
		}

		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		b.addField(n, Field{
			Key:   key.Value,
			Pos:   b.pos(y.Content[i]),
			Value: value,
		})
	}

	for _, m := range merged {
		for _, from := range append([]*Node{m}, m.Elements()...) {
			for _, f := range from.Fields {
				if b.find(n, f.Key) == nil {
					n.Fields = append(n.Fields, f)
				}
			}
		}
	}

	return size, nil
}

// wideMap is the number of keys from which an index finds duplicates: a hostile map may have millions.
const wideMap = 64

// find returns the field with a key in a map that is being made. Fields are only added, so the index only grows.
func (b *builder) find(n *Node, key string) *Field {
	if len(n.Fields) < wideMap {
		return n.Field(key)
	}
	if b.index == nil {
		b.index = map[*Node]map[string]int{}
	}

	keys := b.index[n]
	if keys == nil {
		keys = map[string]int{}
		b.index[n] = keys
	}
	for i := len(keys); i < len(n.Fields); i++ {
		keys[n.Fields[i].Key] = i
	}

	if i, ok := keys[key]; ok {
		return &n.Fields[i]
	}
	return nil
}

// addField adds a field to a map; a key that is there already is a fault, and its last value stands.
func (b *builder) addField(n *Node, f Field) {
	old := b.find(n, f.Key)
	if old == nil {
		n.Fields = append(n.Fields, f)
		return
	}
	b.fault(f.Pos, fmt.Sprintf("the key %q is there twice, first in line %d", f.Key, old.Line),
		"kubectl refuses this (strict field validation); keep one of them")
	*old = f
}

// scalar resolves a plain scalar as Kubernetes does: as YAML 1.1, where yes and on are booleans.
// https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go (through go.yaml.in/yaml/v2)
func (b *builder) scalar(n *Node, y *yaml.Node) {
	n.Value = y.Value
	switch y.Tag {
	case "!!null":
		n.Kind, n.Value = Null, ""
	case "!!bool":
		n.Kind, n.Value = Bool, strings.ToLower(y.Value)
	case "!!int", "!!float":
		n.Kind = Number
	default:
		n.Kind = String
		if y.Style == 0 && len(y.Value) <= 3 {
			switch y.Value {
			case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
				n.Kind, n.Value = Bool, "true"
			case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
				n.Kind, n.Value = Bool, "false"
			}
		}
	}

	if y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && strings.Contains(y.Value, "{{") &&
		helmValue.MatchString(y.Value) {
		b.fault(n.Pos, "this is a Helm template that has not been rendered", helmRemedy)
	}
}
