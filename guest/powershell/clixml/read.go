package clixml

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
)

// deepest bounds how deep objects may be within each other in a file.
const deepest = 100

// node is an element of a file.
type node struct {
	kind, name, ref string
	text            string
	children        []*node
}

// reader reads objects, and keeps those to which others may refer.
type reader struct {
	sealer  Sealer
	objects map[string]object.Value
	types   map[string][]string
}

// Read reads the objects of a file of Export-Clixml.
func Read(text string, seals Sealer) ([]object.Value, error) {
	top, err := parse(text)
	if err != nil {
		return nil, err
	}
	if top.kind != rootElement {
		return nil, fmt.Errorf("the element %s is not %s: it is no file of Export-Clixml", top.kind, rootElement)
	}

	r := &reader{
		sealer:  seals,
		objects: map[string]object.Value{},
		types:   map[string][]string{},
	}
	var all []object.Value
	for _, e := range top.children {
		v, err := r.value(e)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// parse reads the elements of a document.
func parse(text string) (*node, error) {
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\uFEFF")))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is text already
	var open []*node
	var top *node
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && top != nil {
			return top, nil
		}
		if err != nil {
			return nil, fmt.Errorf("there is an error in the XML document: %w", err)
		}

		switch t := token.(type) {
		case xml.StartElement:
			e := startedElement(t)
			switch {
			case len(open) > deepest*2: // each object is two elements
				return nil, errors.New("objects are nested too deep")
			case len(open) > 0:
				above := open[len(open)-1]
				above.children = append(above.children, e)
			case top != nil:
				return nil, errors.New("there are multiple root elements")
			default:
				top = e
			}
			open = append(open, e)

		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			}
		}
	}
}

// startedElement returns the element that begins.
func startedElement(t xml.StartElement) *node {
	e := &node{kind: t.Name.Local}
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "N":
			e.name = unescaped(a.Value)
		case "RefId":
			e.ref = a.Value
		}
	}
	return e
}

// value reads one value.
func (r *reader) value(e *node) (object.Value, error) {
	switch e.kind {
	case "Nil":
		return nil, nil
	case "Obj":
		return r.object(e)
	case "Ref":
		v, there := r.objects[e.ref]
		if !there {
			return nil, fmt.Errorf("an element refers to object %q, which is not before it", e.ref)
		}
		return v, nil
	}

	v, err := r.plain(e)
	if number, is := errors.AsType[*strconv.NumError](err); is {
		err = number.Err
	}
	if err != nil {
		return nil, fmt.Errorf("an element %s with %q: %w", e.kind, shortenedText(e.text), err)
	}
	return v, nil
}

func shortenedText(text string) string {
	const most = 40
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// castNames are the types of elements whose texts are converted to them.
func castNames() map[string]string {
	return map[string]string{
		"G": "guid", "URI": "uri", "Version": "version", "By": "byte", "SB": "sbyte", "U16": "uint16", "I16": "int16",
		"U32": "uint32", "U64": "uint64", "Sg": "single", "D": "decimal", "XD": "xml",
	}
}

// plain reads an element that is one value.
func (r *reader) plain(e *node) (object.Value, error) {
	text := strings.TrimSpace(e.text)
	switch e.kind {
	case textElement, "SBK":
		return unescaped(e.text), nil
	case "B":
		return strconv.ParseBool(text)
	case "I32":
		return strconv.ParseInt(text, 10, 32)
	case "I64":
		return strconv.ParseInt(text, 10, 64)
	case "Db":
		return strconv.ParseFloat(text, 64)
	case "C":
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, err
		}
		return dotnet.Converted("char", int64(n))
	case "DT":
		at, err := parseTime(text)
		return object.DateTime{At: at}, err
	case "TS":
		d, err := parseSpan(text)
		return object.Span(d), err
	case "BA":
		data, err := base64.StdEncoding.DecodeString(text)
		return object.ByteList(data), err
	case "SS":
		opened, err := r.sealer.Open(text)
		return &object.Instance{Of: dotnet.SecureClass(), V: opened}, err
	}

	to, known := castNames()[e.kind]
	if !known {
		return nil, errors.New("it is no element of Export-Clixml")
	}
	return dotnet.Converted(to, unescaped(e.text))
}

// object reads an object: a list, a table, a value with a type, or properties.
func (r *reader) object(e *node) (object.Value, error) {
	o := object.New(object.Custom)
	types, shown := []string{}, ""
	hasText := false
	var v, simple object.Value = o, nil
	if e.ref != "" {
		r.objects[e.ref] = o
	}

	for _, part := range e.children {
		var err error
		switch part.kind {
		case "TN":
			types = typesOf(part)
			r.types[part.ref] = types
		case "TNRef":
			types = r.types[part.ref]
		case "ToString":
			shown, hasText = unescaped(part.text), true
		case "Props", "MS":
			err = r.properties(o, part)
		case listElement, "IE", "QUE", "STK":
			v, err = r.list(part)
		case tableElement:
			v, err = r.table(part, types)
		default:
			simple, err = r.value(part)
		}
		if err != nil {
			return nil, err
		}
	}

	if len(types) > 0 && v == object.Value(o) {
		var err error
		if v, err = typedObject(o, types[0], shown, hasText, simple); err != nil {
			return nil, err
		}
	}
	if e.ref != "" {
		r.objects[e.ref] = v
	}
	return v, nil
}

// typedObject gives an object that was read the name of its type; credentials and values of enumerations are
// themselves.
func typedObject(o *object.Object, name, shown string, hasText bool, simple object.Value) (object.Value, error) {
	if name == dotnet.CredentialKind {
		password, is := o.Value("Password").(*object.Instance)
		if !is || password.Of.Name != dotnet.SecureClass().Name {
			return nil, errors.New("a credential has no password")
		}
		return dotnet.NewCredential(object.Text(o.Value("UserName")), password), nil
	}
	if n, is := simple.(int64); is {
		if of := object.EnumOf(name); of != nil {
			return object.Enum{Of: of, N: n}, nil
		}
	}
	if simple != nil && len(o.Names) == 0 {
		return simple, nil
	}
	if name == customName {
		return o, nil
	}

	class := &object.Class{Name: deserialized + strings.TrimPrefix(name, deserialized)}
	o.Class = func() *object.Class { return class }
	if hasText {
		o.Shown = func(*object.Object) string { return shown }
	}
	return o, nil
}

// typesOf returns the names of types.
func typesOf(e *node) []string {
	var all []string
	for _, t := range e.children {
		all = append(all, unescaped(t.text))
	}
	return all
}

// properties gives an object what an element has.
func (r *reader) properties(o *object.Object, e *node) error {
	for _, p := range e.children {
		v, err := r.value(p)
		if err != nil {
			return err
		}
		o.Put(p.name, v)
	}
	return nil
}

// list reads a list, which is an ArrayList afterwards.
func (r *reader) list(e *node) (object.Value, error) {
	l := &object.ArrayList{Items: []object.Value{}}
	for _, item := range e.children {
		v, err := r.value(item)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	return l, nil
}

// table reads a table.
func (r *reader) table(e *node, types []string) (object.Value, error) {
	t := object.NewTable(len(types) > 0 && strings.HasSuffix(types[0], "OrderedDictionary"))
	for _, entry := range e.children {
		var k, v object.Value
		for _, part := range entry.children {
			got, err := r.value(part)
			if err != nil {
				return nil, err
			}
			if part.name == "Key" {
				k = got
			} else {
				v = got
			}
		}
		if k == nil {
			return nil, errors.New("an entry of a table has no key")
		}
		t.Set(k, v)
	}
	return t, nil
}
