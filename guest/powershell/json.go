package powershell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxJSONDepth bounds how deep JSON is nested; it is ConvertTo-Json's own largest -Depth.
const maxJSONDepth = 100

// fromJSON parses JSON; objects have their properties in the text's order.
func fromJSON(source string) (value, error) {
	d := json.NewDecoder(strings.NewReader(source))
	d.UseNumber()
	v, err := jsonValue(d, 0)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		err = errors.New("there is more after its end")
	}
	return nil, thrown("Invalid JSON: %v", err)
}

func jsonValue(d *json.Decoder, depth int) (value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxJSONDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return jsonList(d, depth)
		}
		return jsonObject(d, depth)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	case string:
		return t, nil
	case bool:
		return t, nil
	}
	return nil, nil
}

func jsonList(d *json.Decoder, depth int) (value, error) {
	items := []value{}
	for d.More() {
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := d.Token()
	return items, err
}

func jsonObject(d *json.Decoder, depth int) (value, error) {
	o := newObject(custom)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.put(fmt.Sprint(name), v)
	}
	_, err := d.Token()
	return o, err
}

// toJSON writes a value; objects nested deeper than depth are written as their text.
func toJSON(b *strings.Builder, v value, depth int, indent, newline string) error {
	switch v := plain(v).(type) {
	case *table:
		return toJSON(b, v.object(), depth, indent, newline)
	case *arrayList:
		return toJSON(b, v.items, depth, indent, newline)
	case *object:
		if v.kind != custom {
			return thrown("ConvertTo-Json : an object of kind %s is not part of Mullion's PowerShell.", v.kind)
		}
		l := jsonLayout{brackets: "{}", depth: depth, indent: indent, newline: newline}
		for _, name := range v.names {
			l.parts = append(l.parts, jsonPart{name, v.props[lower(name)]})
		}
		return l.write(b, v)
	case []value, span:
		l := jsonLayout{brackets: "[]", depth: depth, indent: indent, newline: newline}
		if depth >= 0 { // a range may be long
			for item := range each(v) {
				l.parts = append(l.parts, jsonPart{"", item})
			}
		}
		return l.write(b, v)
	case nil, bool, int64, float64, string:
		return writeJSON(b, v)
	case enum:
		return writeJSON(b, v.n)
	case moment:
		return thrown("ConvertTo-Json : a time is not part of Mullion's PowerShell.")
	default:
		return writeJSON(b, text(v))
	}
}

type jsonPart struct {
	name string
	v    value
}

// jsonLayout is a list or object in brackets, and how to write it; newline is "" if all is on one line.
type jsonLayout struct {
	brackets        string
	parts           []jsonPart
	depth           int
	indent, newline string
}

// write writes the parts in brackets. Below the requested depth it writes the text of whole instead.
func (l jsonLayout) write(b *strings.Builder, whole value) error {
	if l.depth < 0 {
		return writeJSON(b, text(whole))
	}
	inner, colon := l.indent, ":"
	if l.newline != "" {
		inner, colon = inner+"  ", ": "
	}
	b.WriteString(l.brackets[:1])
	for i, p := range l.parts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.newline + inner)
		if l.brackets == "{}" {
			if err := writeJSON(b, p.name); err != nil {
				return err
			}
			b.WriteString(colon)
		}
		if err := toJSON(b, p.v, l.depth-1, inner, l.newline); err != nil {
			return err
		}
	}
	if len(l.parts) > 0 {
		b.WriteString(l.newline + l.indent)
	}
	b.WriteString(l.brackets[1:])
	return nil
}

func writeJSON(b *strings.Builder, v any) error {
	var one strings.Builder
	e := json.NewEncoder(&one)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.WriteString(strings.TrimSuffix(one.String(), "\n"))
	return nil
}

// convertFromJSON reads its input as one text, its lines joined.
func convertFromJSON(c *call) error {
	var lines []string
	for _, v := range c.items(objectName) {
		lines = append(lines, text(v))
	}
	v, err := fromJSON(strings.Join(lines, "\n"))
	if err != nil {
		return err
	}
	for item := range each(v) {
		if err := c.out.put(item); err != nil {
			return err
		}
	}
	return nil
}

// convertToJSON writes a single object by itself, several as a list.
func convertToJSON(c *call) error {
	v, given := c.values["inputobject"]
	if !given {
		v = one(c.input)
	}
	depth := int64(2) // Windows' default
	if d, ok := c.values["depth"]; ok {
		var err error
		if depth, err = integer(d); err != nil {
			return err
		}
		if depth < 0 || depth > maxJSONDepth {
			return thrown("ConvertTo-Json : -Depth %d is not between 0 and %d.", depth, maxJSONDepth)
		}
	}
	newline := c.f.in.session.Newline
	if c.flags["compress"] {
		newline = ""
	}
	var b strings.Builder
	if err := toJSON(&b, v, int(depth), "", newline); err != nil {
		return err
	}
	return c.out.put(b.String())
}
