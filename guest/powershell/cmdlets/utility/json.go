package utility

import (
	"encoding/json"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// toJSON writes a value; objects nested deeper than depth are written as their text.
func toJSON(b *strings.Builder, v object.Value, depth int, indent, newline string) error {
	switch v := object.Plain(v).(type) {
	case *object.Hashtable:
		return toJSON(b, v.Object(), depth, indent, newline)
	case *object.ArrayList:
		return toJSON(b, v.Items, depth, indent, newline)
	case *object.Object:
		l := jsonLayout{
			brackets: "{}",
			depth:    depth,
			indent:   indent,
			newline:  newline,
		}

		for _, name := range v.Names {
			l.parts = append(l.parts, jsonPart{name, v.Value(name)})
		}

		return l.write(b, v)

	case []object.Value, object.Range:
		l := jsonLayout{
			brackets: "[]",
			depth:    depth,
			indent:   indent,
			newline:  newline,
		}

		if depth >= 0 { // a range may be long
			for item := range object.Each(v) {
				l.parts = append(l.parts, jsonPart{"", item})
			}
		}

		return l.write(b, v)

	case nil, bool, int64, float64, string:
		return writeJSON(b, v)
	case object.Enum:
		return writeJSON(b, v.N)
	case object.DateTime:
		fmt.Fprintf(b, `"\/Date(%d)\/"`, v.At.UnixMilli())
		return nil
	default:
		return writeJSON(b, object.Text(v))
	}
}

type jsonPart struct {
	name string
	v    object.Value
}

// jsonLayout is a list or object in brackets, and how to write it; newline is "" if all is on one line.
type jsonLayout struct {
	brackets        string
	parts           []jsonPart
	depth           int
	indent, newline string
}

// write writes the parts in brackets. Below the requested depth it writes the text of whole instead.
func (l jsonLayout) write(b *strings.Builder, whole object.Value) error {
	if l.depth < 0 {
		return writeJSON(b, object.Text(whole))
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
func convertFromJSON(c *cmdlet.Call) error {
	var lines []string
	for _, v := range c.Items(cmdlet.ObjectName) {
		lines = append(lines, object.Text(v))
	}

	v, err := object.FromJSON(strings.Join(lines, "\n"))
	if err != nil {
		return err
	}
	for item := range object.Each(v) {
		if err := c.Out.Put(item); err != nil {
			return err
		}
	}

	return nil
}

// convertToJSON writes a single object by itself, several as a list.
func convertToJSON(c *cmdlet.Call) error {
	v, given := c.Values["inputobject"]
	if !given {
		v = object.One(c.Input)
	}

	depth := int64(2) // Windows' default
	if d, ok := c.Values["depth"]; ok {
		var err error
		if depth, err = object.Integer(d); err != nil {
			return err
		}
		if depth < 0 || depth > object.MaxJSONDepth {
			return object.Thrown("ConvertTo-Json : -Depth %d is not between 0 and %d.", depth, object.MaxJSONDepth)
		}
	}

	newline := c.State.Newline
	if c.Flags["compress"] {
		newline = ""
	}
	var b strings.Builder
	if err := toJSON(&b, v, int(depth), "", newline); err != nil {
		return err
	}

	return c.Out.Put(b.String())
}
