package clixml

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
)

// writer writes objects. An object that has been written is referred to by its number, and so are lists of types.
type writer struct {
	b       strings.Builder
	newline string
	sealer  Sealer
	written map[any]int
	types   map[string]int
	objects int
}

// Write returns objects as a file of Export-Clixml has them. An object that is depth levels deep is its text
// there.
func Write(values []object.Value, depth int, newline string, seals Sealer) (string, error) {
	w := &writer{
		newline: newline, sealer: seals,
		written: map[any]int{}, types: map[string]int{},
	}
	w.b.WriteString(`<` + rootElement + ` Version="1.1.0.1" xmlns="` + space + `">`)
	for _, v := range values {
		if err := w.value(v, "", depth, 1); err != nil {
			return "", err
		}
	}
	w.b.WriteString(newline + "</" + rootElement + ">")
	return w.b.String(), nil
}

// line begins a line, as deep as it is.
func (w *writer) line(level int) { w.b.WriteString(w.newline + strings.Repeat("  ", level)) }

// nameAttribute returns the attribute that names a property, or nothing.
func nameAttribute(name string) string {
	if name == "" {
		return ""
	}
	return ` N="` + xmlText(escaped(name)) + `"`
}

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return strings.NewReplacer("&#39;", "'", "&#34;", "&quot;").Replace(b.String())
}

// element writes an element with a text.
func (w *writer) element(level int, kind, name, text string) {
	w.line(level)
	w.b.WriteString("<" + kind + nameAttribute(name) + ">" + xmlText(text) + "</" + kind + ">")
}

// value writes one value, which may have a name.
func (w *writer) value(v object.Value, name string, depth, level int) error {
	v = object.Plain(v)
	if kind, text, simple := plainElement(v); simple {
		w.element(level, kind, name, text)
		return nil
	}

	switch v := v.(type) {
	case nil:
		w.line(level)
		w.b.WriteString("<Nil" + nameAttribute(name) + " />")
		return nil
	case object.Enum:
		return w.enum(v, name, level)
	case *object.Instance:
		if text, is := v.V.(string); is && v.Of.Name == dotnet.SecureClass().Name {
			return w.secret(text, name, level)
		}
	case []object.Value, object.Range, *object.ArrayList, *object.Hashtable:
		if depth >= 0 {
			return w.container(v, name, depth, level)
		}
	}

	if depth <= 0 {
		w.element(level, textElement, name, escaped(object.Text(v)))
		return nil
	}
	return w.object(v, name, depth, level)
}

// plainElement returns the element and the text of a value that is no more than that.
func plainElement(v object.Value) (kind, text string, is bool) {
	switch v := v.(type) {
	case string:
		return textElement, escaped(v), true
	case bool:
		return "B", strconv.FormatBool(v), true
	case int64:
		if int64(int32(v)) == v { // checks that it fits
			return "I32", strconv.FormatInt(v, 10), true
		}
		return "I64", strconv.FormatInt(v, 10), true
	case float64:
		return "Db", strings.NewReplacer("+Inf", "INF", "-Inf", "-INF").Replace(strconv.FormatFloat(v, 'G', -1, 64)), true
	case object.DateTime:
		return "DT", timeText(v.At), true
	case *object.ScriptBlock:
		return "SBK", escaped(v.Words), true
	case *object.Instance:
		return plainInstance(v)
	}
	return "", "", false
}

func plainInstance(v *object.Instance) (kind, text string, is bool) {
	switch v.Of.Name {
	case object.SpanName:
		d, ok := v.V.(time.Duration)
		return "TS", spanText(d), ok
	case object.GUIDName:
		return "G", object.Text(v), true
	case library.VersionName:
		return "Version", object.Text(v), true
	case "System.Uri":
		return "URI", escaped(object.Text(v)), true
	case object.CharName:
		if units := object.Characters(object.Text(v)); len(units) == 1 {
			return "C", strconv.Itoa(int(units[0])), true
		}
	}
	return "", "", false
}

// secret writes a password, sealed.
func (w *writer) secret(text, name string, level int) error {
	sealed, err := w.sealer.Seal(text)
	if err != nil {
		return fmt.Errorf("seal a password: %w", err)
	}
	w.element(level, "SS", name, sealed)
	return nil
}

// enum writes a value of an enumeration.
func (w *writer) enum(v object.Enum, name string, level int) error {
	return w.whole(v, name, level, []string{v.Of.FullName(), "System.Enum", "System.ValueType", objectName}, func() error {
		w.element(level+1, "ToString", "", escaped(v.Text()))
		w.element(level+1, "I32", "", strconv.FormatInt(v.N, 10))
		return nil
	})
}

// whole writes an object around what is in it, with the names of its types.
func (w *writer) whole(v any, name string, level int, types []string, within func() error) error {
	w.line(level)
	if known := sameObject(v); known != nil {
		if number, is := w.written[known]; is {
			fmt.Fprintf(&w.b, `<Ref%s RefId="%d" />`, nameAttribute(name), number)
			return nil
		}
		w.written[known] = w.objects
	}
	fmt.Fprintf(&w.b, `<Obj%s RefId="%d">`, nameAttribute(name), w.objects)
	w.objects++

	list := strings.Join(types, "\n")
	number, known := w.types[list]
	w.line(level + 1)
	if known {
		fmt.Fprintf(&w.b, `<TNRef RefId="%d" />`, number)
	} else {
		number = len(w.types)
		w.types[list] = number
		fmt.Fprintf(&w.b, `<TN RefId="%d">`, number)
		for _, t := range types {
			w.element(level+2, "T", "", escaped(t))
		}
		w.line(level + 1)
		w.b.WriteString("</TN>")
	}

	if err := within(); err != nil {
		return err
	}
	w.line(level)
	w.b.WriteString("</Obj>")
	return nil
}

// sameObject returns what tells an object from others, nil for a value that is equal to others.
func sameObject(v any) any {
	switch v.(type) {
	case *object.Object, *object.ArrayList, *object.Hashtable, *object.Instance:
		return v
	}
	return nil
}

// container writes a list or a table.
func (w *writer) container(v object.Value, name string, depth, level int) error {
	types := []string{object.TypeName(v), objectName}
	if types[0] == arrayName {
		types = []string{arrayName, "System.Array", objectName}
	}
	t, table := v.(*object.Hashtable)
	return w.whole(v, name, level, types, func() error {
		kind := listElement
		if table {
			kind = tableElement
		}
		w.line(level + 1)
		w.b.WriteString("<" + kind + ">")

		if table {
			for _, k := range t.Keys {
				w.line(level + 2)
				w.b.WriteString("<En>")
				if err := w.value(k, "Key", depth-1, level+3); err != nil {
					return err
				}
				if err := w.value(t.Get(k), "Value", depth-1, level+3); err != nil {
					return err
				}
				w.line(level + 2)
				w.b.WriteString("</En>")
			}
		} else {
			for item := range object.Each(v) {
				if err := w.value(item, "", depth-1, level+2); err != nil {
					return err
				}
			}
		}

		w.line(level + 1)
		w.b.WriteString("</" + kind + ">")
		return nil
	})
}

// object writes an object by its properties: those that it has been given are its own, others its type's.
func (w *writer) object(v object.Value, name string, depth, level int) error {
	o, is := v.(*object.Object)
	types := []string{object.TypeName(v), objectName}
	if is && ((o.Kind == object.Custom && o.Class == nil) || strings.HasPrefix(types[0], "a ")) {
		types[0] = customName
	}
	return w.whole(v, name, level, types, func() error {
		part := "Props"
		if types[0] == customName {
			part = "MS"
		} else {
			w.element(level+1, "ToString", "", escaped(object.Text(v)))
		}

		w.line(level + 1)
		w.b.WriteString("<" + part + ">")
		for _, property := range object.PropertyNames(v) {
			got, err := object.Property(v, strings.ToLower(property))
			if err != nil {
				got = nil // what cannot be told of an object is not kept
			}
			if err := w.value(got, property, depth-1, level+2); err != nil {
				return err
			}
		}
		w.line(level + 1)
		w.b.WriteString("</" + part + ">")
		return nil
	})
}
