package utility

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
)

// jsonStyle is how JSON is laid out: on one line, with the newline "", or as the version of PowerShell does.
type jsonStyle struct {
	newline string
	core    bool // PowerShell 6 and later
}

// toJSON writes a value; objects nested deeper than depth are written as their text.
func (s jsonStyle) toJSON(b *strings.Builder, v object.Value, depth int, indent string) error {
	switch v := object.Plain(v).(type) {
	case *object.Hashtable:
		return s.toJSON(b, v.Object(), depth, indent)
	case *object.ArrayList:
		return s.toJSON(b, v.Items, depth, indent)
	case *object.Object:
		l := jsonLayout{
			jsonStyle: s,
			brackets:  "{}",
			depth:     depth,
			indent:    indent,
		}

		for _, name := range v.Names {
			l.parts = append(l.parts, jsonPart{name, v.Value(name)})
		}

		return l.inBrackets(b, v)

	case []object.Value, object.Range:
		l := jsonLayout{
			jsonStyle: s,
			brackets:  "[]",
			depth:     depth,
			indent:    indent,
		}

		if depth >= 0 { // a range may be long
			for item := range object.Each(v) {
				l.parts = append(l.parts, jsonPart{"", item})
			}
		}

		return l.inBrackets(b, v)

	case nil, bool, int64, string:
		return s.write(b, v)
	case float64:
		b.WriteString(s.float(v))
		return nil
	case *object.Instance:
		if of := partsOf(v); of != nil {
			return s.toJSON(b, of, depth, indent)
		}
		return s.write(b, object.Text(v))
	case object.Enum:
		return s.write(b, v.N)
	case object.DateTime:
		fmt.Fprintf(b, `"\/Date(%d)\/"`, v.At.UnixMilli())
		return nil
	default:
		return s.write(b, object.Text(v))
	}
}

// float returns a floating number as "r" of .NET does, which both versions write: of fifteen digits if they are enough,
// and PowerShell 6 with a point, and what is no number in quotes. Infinity is no JSON in Windows PowerShell either.
func (s jsonStyle) float(n float64) string {
	text := object.Text(n)
	back, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsNaN(n), math.IsInf(n, 0):
		if s.core {
			text = `"` + text + `"`
		}
		return text
	case err != nil || back != n:
		text = strconv.FormatFloat(n, 'G', 17, 64)
		if s.core { // as few as tell it from others
			text = strconv.FormatFloat(n, 'G', -1, 64)
		}
	}
	if s.core && !strings.ContainsAny(text, ".E") {
		text += ".0"
	}
	return text
}

// partsOf returns an object of .NET with its properties, nil for one that is written as its text.
func partsOf(i *object.Instance) *object.Object {
	names := map[string][]string{
		object.SpanName: {
			"Ticks", "Days", "Hours", "Milliseconds", "Minutes", "Seconds", "TotalDays", "TotalHours", "TotalMilliseconds",
			"TotalMinutes", "TotalSeconds",
		},
		library.VersionName: {"Major", "Minor", "Build", "Revision", "MajorRevision", "MinorRevision"},
	}[i.Of.Name]
	if names == nil {
		return nil
	}

	o := object.New(object.Custom)
	o.Shown = func(*object.Object) string { return object.Text(i) }
	for _, name := range names {
		v, err := object.Property(i, strings.ToLower(name))
		if err != nil {
			v = nil // as there
		}
		o.Set(name, v)
	}
	return o
}

type jsonPart struct {
	name string
	v    object.Value
}

// jsonLayout is a list or object in brackets, and how to write it.
type jsonLayout struct {
	jsonStyle
	brackets string
	parts    []jsonPart
	depth    int
	indent   string
}

// inBrackets writes the parts. Below the requested depth it writes the text of whole instead. In Windows PowerShell
// what is in brackets begins four columns behind them, wherever those are, and brackets with nothing in them have a
// line between them.
func (l jsonLayout) inBrackets(b *strings.Builder, whole object.Value) error {
	if l.depth < 0 {
		return l.write(b, object.Text(whole))
	}

	aligned := l.newline != "" && !l.core
	inner, colon := l.indent, ":"
	switch {
	case aligned:
		inner, colon = inner+"    ", ":  "
	case l.newline != "":
		inner, colon = inner+"  ", ": "
	}

	b.WriteString(l.brackets[:1])
	for i, p := range l.parts {
		if i > 0 {
			b.WriteByte(',')
		}

		b.WriteString(l.newline + inner)
		column := inner
		if l.brackets == "{}" {
			begin := b.Len()
			if err := l.write(b, p.name); err != nil {
				return err
			}
			b.WriteString(colon)
			if aligned {
				column += strings.Repeat(" ", len(utf16.Encode([]rune(b.String()[begin:]))))
			}
		}

		if err := l.toJSON(b, p.v, l.depth-1, column); err != nil {
			return err
		}
	}

	if aligned && len(l.parts) == 0 {
		b.WriteString(l.newline)
	}
	if aligned || len(l.parts) > 0 {
		b.WriteString(l.newline + l.indent)
	}
	b.WriteString(l.brackets[1:])
	return nil
}

// escapedInWindows are characters that Windows PowerShell writes by their numbers, as its JavaScriptSerializer does.
//
//nolint:gochecknoglobals // A replacer is made once.
var escapedInWindows = strings.NewReplacer("'", `\u0027`, "<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u0085", `\u0085`)

// write writes a value without parts.
func (s jsonStyle) write(b *strings.Builder, v any) error {
	var one strings.Builder
	e := json.NewEncoder(&one)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := strings.TrimSuffix(one.String(), "\n")
	if !s.core {
		text = escapedInWindows.Replace(text)
	}
	b.WriteString(text)
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

	style := jsonStyle{newline: c.State.Newline, core: c.State.Core}
	if c.Flags["compress"] {
		style.newline = ""
	}
	var b strings.Builder
	if err := style.toJSON(&b, v, int(depth), ""); err != nil {
		return err
	}

	return c.Out.Put(b.String())
}
