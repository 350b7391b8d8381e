package xmldoc

import (
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
)

// xmlClassName returns the class of a node of a kind.
func xmlClassName(kind xmlKind) string {
	switch kind {
	case xmlCData:
		return "System.Xml.XmlCDataSection"
	case xmlDeclaration:
		return "System.Xml.XmlDeclaration"
	case xmlInstruction:
		return "System.Xml.XmlProcessingInstruction"
	}
	return "System.Xml.Xml" + string(kind)
}

// xmlValue returns a node as a value, nil for nil.
func xmlValue(n *xmlNode) object.Value {
	if n == nil {
		return nil
	}
	return &object.Instance{Of: xmlClass(n.kind), V: n}
}

func xmlValues(all []*xmlNode) object.Value {
	out := []object.Value{}
	for _, n := range all {
		out = append(out, xmlValue(n))
	}
	return out
}

// Converted converts a text to a document.
func Converted(v object.Value) (object.Value, error) {
	if n := object.Own[*xmlNode](v); (n != nil && n.kind == xmlDocument) || v == nil {
		return v, nil
	}

	lines := []string{}
	for item := range object.Each(v) {
		lines = append(lines, object.Text(item))
	}

	if n := object.Own[*xmlNode](v); n != nil {
		lines = []string{n.outer()}
	}

	doc, err := readXML(strings.Join(lines, "\n"))
	if err != nil {
		return nil, object.Thrown("Cannot convert value %q to type \"System.Xml.XmlDocument\". Error: %q", object.Text(v),
			object.RecordOf(err).Message)
	}

	return xmlValue(doc), nil
}

// adapted returns what PowerShell makes of a node that is the property of another: its text, if it has nothing else.
func adapted(n *xmlNode) object.Value {
	if n.kind == xmlAttribute {
		return n.value
	}
	if n.kind != xmlElement {
		return n.value
	}

	if len(n.attrs) == 0 && !slices.ContainsFunc(n.children, func(c *xmlNode) bool {
		return c.kind != xmlText && c.kind != xmlCData
	}) {
		return n.text()
	}

	return xmlValue(n)
}

// xmlMember returns a property that a document gives a node: attributes and elements of the name, or its text.
func xmlMember(of object.Value, name string) (v object.Value, there bool) {
	n := object.Own[*xmlNode](of)
	var found []object.Value
	for _, a := range n.attrs {
		if strings.EqualFold(a.local(), name) || strings.EqualFold(a.name, name) {
			found = append(found, a.value)
		}
	}

	for _, c := range n.children {
		if strings.EqualFold(c.local(), name) || strings.EqualFold(c.name, name) {
			found = append(found, adapted(c))
		}
	}

	if n.kind == xmlDocument && len(found) > 0 && strings.EqualFold(name, "xml") {
		return n.children[0].value, true
	}

	return object.One(found), len(found) > 0
}

// setXMLMember sets an attribute or the text of an element.
func setXMLMember(of object.Value, name string, v object.Value) (done bool) {
	n := object.Own[*xmlNode](of)
	for _, a := range n.attrs {
		if strings.EqualFold(a.local(), name) {
			a.value = object.Text(v)
			return true
		}
	}

	for _, c := range n.children {
		if strings.EqualFold(c.local(), name) {
			c.setText(object.Text(v))
			return true
		}
	}

	return false
}

// xmlMemberNames returns the names of the properties that a document gives a node.
func xmlMemberNames(of object.Value) []string {
	n := object.Own[*xmlNode](of)
	var names []string
	for _, one := range append(slices.Clone(n.attrs), n.children...) {
		if one.kind == xmlComment || slices.Contains(names, one.local()) {
			continue
		}
		names = append(names, one.local())
	}
	return names
}

// xmlClass returns the class of nodes of a kind (https://learn.microsoft.com/en-us/dotnet/api/system.xml.xmlnode).
func xmlClass(kind xmlKind) *object.Class {
	c := &object.Class{
		Name:         xmlClassName(kind),
		Text:         func(v any) string { return xmlShown(v.(*xmlNode)) },
		ByProperties: kind == xmlElement || kind == xmlDocument,
		Member:       xmlMember,
		SetMember:    setXMLMember,
		Names:        xmlMemberNames,
		Props:        xmlFields(),
		Methods:      slices.Concat(xmlMethods(), xmlChanges()),
	}

	if kind == xmlDocument {
		c.Others = []string{"xml"}
		c.Make = &object.Method{Most: 1, Do: func(call *object.Call) (object.Value, error) {
			if len(call.Args) == 1 {
				return Converted(call.Arg(0))
			}
			return xmlValue(&xmlNode{kind: xmlDocument, name: "#document"}), nil
		}}
		c.Methods = append(c.Methods, documentMethods()...)
	}

	return c
}

// xmlShown returns a node as a text: that of what has one, the name of others.
func xmlShown(n *xmlNode) string {
	switch n.kind {
	case xmlDocument:
		return "System.Xml.XmlDocument"
	case xmlElement:
		return n.name
	}
	return n.value
}

func xmlFields() []object.Field {
	of := func(name string, get func(n *xmlNode) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[*xmlNode](v)), nil
		}}
	}

	settable := func(
		name string, get func(n *xmlNode) object.Value, set func(n *xmlNode, s string) error,
	) object.Field {
		f := of(name, get)
		f.Set = func(v, to object.Value) error { return set(object.Own[*xmlNode](v), object.Text(to)) }
		return f
	}

	beside := func(by int) func(n *xmlNode) object.Value {
		return func(n *xmlNode) object.Value {
			if n.parent == nil {
				return nil
			}
			i := slices.Index(n.parent.children, n) + by
			if i < 0 || i >= len(n.parent.children) {
				return nil
			}
			return xmlValue(n.parent.children[i])
		}
	}

	return []object.Field{
		of("Name", func(n *xmlNode) object.Value { return n.name }),
		of("LocalName", func(n *xmlNode) object.Value { return n.local() }),
		of("Prefix", func(n *xmlNode) object.Value { return n.prefix() }),
		of("NamespaceURI", func(n *xmlNode) object.Value { return n.namespace() }),
		of("NodeType", func(n *xmlNode) object.Value { return string(n.kind) }),
		of("ParentNode", func(n *xmlNode) object.Value { return xmlValue(n.parent) }),
		of("OwnerDocument", func(n *xmlNode) object.Value { return xmlValue(n.document()) }),
		of("DocumentElement", func(n *xmlNode) object.Value { return xmlValue(n.root()) }),
		of("ChildNodes", func(n *xmlNode) object.Value { return xmlValues(n.children) }),
		of("Attributes", func(n *xmlNode) object.Value { return &object.Instance{Of: attributesClass(), V: n} }),
		of("FirstChild", func(n *xmlNode) object.Value {
			if len(n.children) == 0 {
				return nil
			}
			return xmlValue(n.children[0])
		}),
		of("LastChild", func(n *xmlNode) object.Value {
			if len(n.children) == 0 {
				return nil
			}
			return xmlValue(n.children[len(n.children)-1])
		}),
		of("NextSibling", beside(1)), of("PreviousSibling", beside(-1)),
		of("HasChildNodes", func(n *xmlNode) object.Value { return len(n.children) > 0 }),
		of("HasAttributes", func(n *xmlNode) object.Value { return len(n.attrs) > 0 }),
		of("IsEmpty", func(n *xmlNode) object.Value { return len(n.children) == 0 && !n.full }),
		of("OuterXml", func(n *xmlNode) object.Value { return n.outer() }),
		settable("InnerXml", func(n *xmlNode) object.Value { return n.inner() }, func(n *xmlNode, s string) error {
			doc, err := readXML("<x>" + s + "</x>")
			if err != nil {
				return err
			}
			n.children = nil
			for _, c := range doc.root().children {
				n.add(c)
			}

			return nil
		}),
		settable("InnerText", func(n *xmlNode) object.Value { return n.text() }, func(n *xmlNode, s string) error {
			n.setText(s)
			return nil
		}),
		settable("Value", func(n *xmlNode) object.Value {
			if n.kind == xmlElement || n.kind == xmlDocument {
				return nil
			}
			return n.value
		}, func(n *xmlNode, s string) error {
			n.value = s
			return nil
		}),
	}
}

// attributesClass returns the class XmlAttributeCollection; its objects hold the element.
func attributesClass() *object.Class {
	get := func(of, at object.Value) (object.Value, error) {
		n := object.Own[*xmlNode](of)
		if i, ok := object.Plain(at).(int64); ok {
			if i < 0 || i >= int64(len(n.attrs)) {
				return nil, nil
			}
			return xmlValue(n.attrs[i]), nil
		}
		return xmlValue(n.attr(object.Text(at))), nil
	}

	return &object.Class{
		Name: "System.Xml.XmlAttributeCollection",
		Each: func(v any) []object.Value { return object.Items(xmlValues(v.(*xmlNode).attrs)) },
		Item: &object.Indexer{Get: get},
		Member: func(of object.Value, name string) (object.Value, bool) {
			v := xmlValue(object.Own[*xmlNode](of).attr(name))
			return v, v != nil
		},
		Props: []object.Field{{Name: "Count", Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return int64(len(object.Own[*xmlNode](v).attrs)), nil
		}}},
		Methods: []object.Method{
			{Name: "GetNamedItem", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) { return get(c.On, c.Text(0)) }},
			{Name: "Append", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				a := object.Own[*xmlNode](c.Arg(0))
				if a == nil || a.kind != xmlAttribute {
					return nil, object.CannotConvert(c.Arg(0), "System.Xml.XmlAttribute")
				}
				return xmlValue(object.Own[*xmlNode](c.On).setAttr(a.name, a.value)), nil
			}},
			{Name: "RemoveNamedItem", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				if a := object.Own[*xmlNode](c.On).attr(c.Text(0)); a != nil {
					a.take()
				}
				return nil, nil
			}},
		},
	}
}

// spacesOf returns the prefixes of an XmlNamespaceManager or of a hash table.
func spacesOf(v object.Value) map[string]string {
	t, ok := v.(*object.Hashtable)
	if !ok {
		t = object.Own[*object.Hashtable](v)
	}
	if t == nil {
		return nil
	}

	spaces := map[string]string{}
	for _, k := range t.Keys {
		spaces[object.Text(k)] = object.Text(t.Get(k))
	}

	return spaces
}

// NamespacesClass returns the class System.Xml.XmlNamespaceManager.
func NamespacesClass() *object.Class {
	return &object.Class{
		Name: "System.Xml.XmlNamespaceManager",
		Make: &object.Method{Least: 1, Most: 1, Do: func(*object.Call) (object.Value, error) {
			return &object.Instance{Of: NamespacesClass(), V: object.NewTable(true)}, nil
		}},
		Methods: []object.Method{{Name: "AddNamespace", Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			object.Own[*object.Hashtable](c.On).Set(c.Text(0), c.Text(1))
			return nil, nil
		}}},
	}
}

// Selected returns the nodes of a document that an XPath means, for Select-Xml.
func Selected(of object.Value, expression string, spaces object.Value) (object.Value, error) {
	n := object.Own[*xmlNode](of)
	if n == nil {
		return nil, object.CannotConvert(of, "System.Xml.XmlNode")
	}
	found, err := n.selected(expression, spacesOf(spaces))
	return xmlValues(found), err
}

func xmlMethods() []object.Method {
	on := func(name string, most int, do func(n *xmlNode, c *object.Call) (object.Value, error)) object.Method {
		return object.Method{Name: name, Least: 1, Most: most, Do: func(c *object.Call) (object.Value, error) {
			return do(object.Own[*xmlNode](c.On), c)
		}}
	}

	return []object.Method{
		on("SelectNodes", 2, func(n *xmlNode, c *object.Call) (object.Value, error) {
			found, err := n.selected(c.Text(0), spacesOf(c.Arg(1)))
			return xmlValues(found), err
		}),
		on("SelectSingleNode", 2, func(n *xmlNode, c *object.Call) (object.Value, error) {
			found, err := n.selected(c.Text(0), spacesOf(c.Arg(1)))
			if len(found) == 0 {
				return nil, err
			}
			return xmlValue(found[0]), err
		}),
		on("GetElementsByTagName", 1, func(n *xmlNode, c *object.Call) (object.Value, error) {
			found := []*xmlNode{}
			var within func(at *xmlNode)
			within = func(at *xmlNode) {
				for _, child := range at.children {
					if child.kind == xmlElement && (child.name == c.Text(0) || c.Text(0) == "*") {
						found = append(found, child)
					}
					within(child)
				}
			}
			within(n)

			return xmlValues(found), nil
		}),
		on("GetAttribute", 2, func(n *xmlNode, c *object.Call) (object.Value, error) {
			if a := n.attr(c.Text(0)); a != nil {
				return a.value, nil
			}
			return "", nil
		}),
		on("GetAttributeNode", 1, func(n *xmlNode, c *object.Call) (object.Value, error) {
			return xmlValue(n.attr(c.Text(0))), nil
		}),
		on("HasAttribute", 1, func(n *xmlNode, c *object.Call) (object.Value, error) {
			return n.attr(c.Text(0)) != nil, nil
		}),
		on("CloneNode", 1, func(n *xmlNode, c *object.Call) (object.Value, error) {
			return xmlValue(n.clone(object.Truth(c.Arg(0)))), nil
		}),
	}
}

// xmlChanges returns the methods that change a node.
func xmlChanges() []object.Method {
	on := func(
		name string, least, most int, do func(n, child *xmlNode, c *object.Call) (object.Value, error),
	) object.Method {
		return object.Method{Name: name, Least: least, Most: most, Do: func(c *object.Call) (object.Value, error) {
			child := object.Own[*xmlNode](c.Arg(0))
			if child == nil {
				return nil, object.CannotConvert(c.Arg(0), "System.Xml.XmlNode")
			}

			n := object.Own[*xmlNode](c.On)
			for at := n; at != nil; at = at.parent {
				if at == child {
					return nil, object.Raise(object.ArgumentException, "Cannot insert a node or any ancestor of that node as a child of "+
						"itself.")
				}
			}

			return do(n, child, c)
		}}
	}

	place := func(n *xmlNode, v object.Value) int {
		i := slices.Index(n.children, object.Own[*xmlNode](v))
		if i < 0 {
			i = len(n.children)
		}
		return i
	}

	text := func(name string, do func(n *xmlNode, c *object.Call)) object.Method {
		return object.Method{Name: name, Least: 1, Most: 3, Do: func(c *object.Call) (object.Value, error) {
			do(object.Own[*xmlNode](c.On), c)
			return nil, nil
		}}
	}

	return []object.Method{
		on("AppendChild", 1, 1, func(n, child *xmlNode, _ *object.Call) (object.Value, error) {
			n.put(child, len(n.children))
			return xmlValue(child), nil
		}),
		on("PrependChild", 1, 1, func(n, child *xmlNode, _ *object.Call) (object.Value, error) {
			n.put(child, 0)
			return xmlValue(child), nil
		}),
		on("InsertBefore", 2, 2, func(n, child *xmlNode, c *object.Call) (object.Value, error) {
			child.take()
			n.put(child, place(n, c.Arg(1)))
			return xmlValue(child), nil
		}),
		on("InsertAfter", 2, 2, func(n, child *xmlNode, c *object.Call) (object.Value, error) {
			child.take()
			n.put(child, place(n, c.Arg(1))+1)
			return xmlValue(child), nil
		}),
		on("ReplaceChild", 2, 2, func(n, child *xmlNode, c *object.Call) (object.Value, error) {
			at := place(n, c.Arg(1))
			if old := object.Own[*xmlNode](c.Arg(1)); old != nil {
				old.take()
			}
			n.put(child, at)
			return c.Arg(1), nil
		}),
		on("RemoveChild", 1, 1, func(_, child *xmlNode, c *object.Call) (object.Value, error) {
			child.take()
			return c.Arg(0), nil
		}),
		text("SetAttribute", func(n *xmlNode, c *object.Call) { n.setAttr(c.Text(0), object.Text(c.Args[len(c.Args)-1])) }),
		text("RemoveAttribute", func(n *xmlNode, c *object.Call) {
			if a := n.attr(c.Text(0)); a != nil {
				a.take()
			}
		}),
		{Name: "RemoveAll", Do: func(c *object.Call) (object.Value, error) {
			n := object.Own[*xmlNode](c.On)
			n.children, n.attrs = nil, nil
			return nil, nil
		}},
	}
}

// documentMethods returns the methods of a document alone.
func documentMethods() []object.Method {
	node := func(name string, most int, do func(c *object.Call) *xmlNode) object.Method {
		return object.Method{Name: name, Least: 1, Most: most, Do: func(c *object.Call) (object.Value, error) {
			return xmlValue(do(c)), nil
		}}
	}

	load := func(c *object.Call, text string) (object.Value, error) {
		doc, err := readXML(text)
		if err != nil {
			return nil, err
		}
		n := object.Own[*xmlNode](c.On)
		n.children = nil
		for _, child := range doc.children {
			n.add(child)
		}

		return nil, nil
	}

	return []object.Method{
		node("CreateElement", 3, func(c *object.Call) *xmlNode {
			n := &xmlNode{kind: xmlElement, name: c.Text(0)}
			if len(c.Args) == 2 && c.Text(1) != "" {
				n.setAttr("xmlns", c.Text(1))
			}
			return n
		}),
		node("CreateAttribute", 2, func(c *object.Call) *xmlNode { return &xmlNode{kind: xmlAttribute, name: c.Text(0)} }),
		node("CreateTextNode", 1, func(c *object.Call) *xmlNode {
			return newNode(xmlText, "#text", c.Text(0))
		}),
		node("CreateComment", 1, func(c *object.Call) *xmlNode {
			return newNode(xmlComment, "#comment", c.Text(0))
		}),
		node("CreateCDataSection", 1, func(c *object.Call) *xmlNode {
			return newNode(xmlCData, "#cdata-section", c.Text(0))
		}),
		node("CreateXmlDeclaration", 3, func(c *object.Call) *xmlNode {
			text := `version="` + c.Text(0) + `"`
			if c.Text(1) != "" {
				text += ` encoding="` + c.Text(1) + `"`
			}
			return newNode(xmlDeclaration, "xml", text)
		}),
		{Name: "ImportNode", Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			n := object.Own[*xmlNode](c.Arg(0))
			if n == nil {
				return nil, object.CannotConvert(c.Arg(0), "System.Xml.XmlNode")
			}
			return xmlValue(n.clone(object.Truth(c.Arg(1)))), nil
		}},
		{Name: "LoadXml", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) { return load(c, c.Text(0)) }},
		{Name: "Load", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			path := c.State.Path(c.Text(0))
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, provider.FileError(path, err)
			}
			return load(c, provider.ScriptText(data))
		}},
		{Name: "Save", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			var b strings.Builder
			object.Own[*xmlNode](c.On).write(&b, "  ", c.State.Newline, 0)
			path := c.State.Path(c.Text(0))
			return nil, provider.FileError(path, provider.WriteFile(path, b.String(), os.O_TRUNC, false))
		}},
	}
}

// Class returns the class System.Xml.XmlDocument.
func Class() *object.Class { return xmlClass(xmlDocument) }

// ElementClass returns the class System.Xml.XmlElement.
func ElementClass() *object.Class { return xmlClass(xmlElement) }
