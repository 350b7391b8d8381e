package xmldoc

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// xmlKind is the kind of a node, by .NET's name.
type xmlKind string

const (
	xmlDocument    xmlKind = "Document"
	xmlElement     xmlKind = "Element"
	xmlAttribute   xmlKind = "Attribute"
	xmlText        xmlKind = "Text"
	xmlCData       xmlKind = "CDATA"
	xmlComment     xmlKind = "Comment"
	xmlDeclaration xmlKind = "XmlDeclaration"
	xmlInstruction xmlKind = "ProcessingInstruction"
	xmlDocType     xmlKind = "DocumentType"
)

// mostXML is how deep elements may be within each other.
const mostXML = 1000

// xmlNode is a node of a document.
type xmlNode struct {
	kind     xmlKind
	name     string // with its prefix
	value    string // of what is no element
	attrs    []*xmlNode
	children []*xmlNode
	parent   *xmlNode
	// full says of an element without children that it is written with an end tag: it was read so, or had children.
	full bool
}

// newNode returns a node that has no attributes and is nobody's child yet.
func newNode(kind xmlKind, name, value string) *xmlNode {
	return &xmlNode{
		kind:  kind,
		name:  name,
		value: value,
	}
}

// newElement returns an element with its attributes.
func newElement(t xml.StartElement) *xmlNode {
	n := &xmlNode{kind: xmlElement, name: qualified(t.Name)}
	for _, a := range t.Attr {
		n.attrs = append(n.attrs, &xmlNode{
			kind:   xmlAttribute,
			name:   qualified(a.Name),
			value:  a.Value,
			parent: n,
		})
	}

	return n
}

// addText adds a text, but for space alone where it says nothing.
func (n *xmlNode) addText(text string) {
	if strings.TrimSpace(text) != "" || n.keepsSpace() {
		n.add(newNode(xmlText, "#text", text))
	}
}

// newInstruction returns an instruction, or a document's declaration, which looks like one.
func newInstruction(t xml.ProcInst) *xmlNode {
	kind := xmlInstruction
	if t.Target == "xml" {
		kind = xmlDeclaration
	}
	return newNode(kind, t.Target, string(t.Inst))
}

// readXML reads a document. Entities of its own are not expanded.
func readXML(text string) (*xmlNode, error) {
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\uFEFF")))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is text already
	doc := &xmlNode{kind: xmlDocument, name: "#document"}
	at, depth := doc, 0
	tagEnd := int64(0) // where the last start tag ends
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badXML(err.Error())
		}

		switch t := token.(type) {
		case xml.StartElement:
			n := newElement(t)
			if depth++; depth > mostXML {
				return nil, badXML("the elements are nested too deep")
			}
			at.add(n)
			at, tagEnd = n, d.InputOffset()

		case xml.EndElement:
			if at.kind != xmlElement || at.name != qualified(t.Name) {
				return nil, badXML("The '" + at.name + "' start tag does not match the end tag of '" + qualified(t.Name) + "'.")
			}

			at.full = d.InputOffset() > tagEnd // that of <a/> is read with its start
			at, depth = at.parent, depth-1

		case xml.CharData:
			if at != doc {
				at.addText(string(t))
			}

		case xml.Comment:
			at.add(newNode(xmlComment, "#comment", string(t)))
		case xml.ProcInst:
			at.add(newInstruction(t))
		case xml.Directive:
			at.add(newNode(xmlDocType, "#doctype", string(t)))
		}
	}

	return doc, ends(doc, at)
}

// ends refuses a document that ends within an element, or has none.
func ends(doc, at *xmlNode) error {
	if at != doc {
		return badXML("Unexpected end of file has occurred. The following elements are not closed: " + at.name + ".")
	}
	if doc.root() == nil {
		return badXML("Root element is missing.")
	}
	return nil
}

func badXML(why string) error { return object.Raise("System.Xml.XmlException", why) }

func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// keepsSpace reports whether blanks alone are text in an element: where xml:space says so.
func (n *xmlNode) keepsSpace() bool {
	for ; n != nil; n = n.parent {
		if a := n.attr("xml:space"); a != nil {
			return a.value == "preserve"
		}
	}
	return false
}

func (n *xmlNode) add(child *xmlNode) {
	child.parent = n
	n.full = true
	n.children = append(n.children, child)
}

// root returns the element of a document, nil without.
func (n *xmlNode) root() *xmlNode {
	for _, c := range n.children {
		if c.kind == xmlElement {
			return c
		}
	}
	return nil
}

// document returns the outermost node.
func (n *xmlNode) document() *xmlNode {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

func (n *xmlNode) attr(name string) *xmlNode {
	i := slices.IndexFunc(n.attrs, func(a *xmlNode) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return n.attrs[i]
}

// setAttr gives an element an attribute.
func (n *xmlNode) setAttr(name, value string) *xmlNode {
	a := n.attr(name)
	if a == nil {
		a = &xmlNode{
			kind:   xmlAttribute,
			name:   name,
			parent: n,
		}
		n.attrs = append(n.attrs, a)
	}
	a.value = value
	return a
}

func (n *xmlNode) local() string { return n.name[strings.Index(n.name, ":")+1:] }

func (n *xmlNode) prefix() string {
	prefix, _, has := strings.Cut(n.name, ":")
	if !has {
		return ""
	}
	return prefix
}

// namespace returns the namespace that a node is in.
func (n *xmlNode) namespace() string {
	name := "xmlns"
	if p := n.prefix(); p != "" {
		name = "xmlns:" + p
	} else if n.kind == xmlAttribute {
		return ""
	}

	for at := n; at != nil; at = at.parent {
		if a := at.attr(name); a != nil {
			return a.value
		}
	}

	return ""
}

// text returns InnerText.
func (n *xmlNode) text() string {
	switch n.kind {
	case xmlElement, xmlDocument:
		var b strings.Builder
		for _, c := range n.children {
			if c.kind != xmlComment && c.kind != xmlInstruction && c.kind != xmlDeclaration && c.kind != xmlDocType {
				b.WriteString(c.text())
			}
		}
		return b.String()
	}
	return n.value
}

// setText sets InnerText.
func (n *xmlNode) setText(text string) {
	if n.kind != xmlElement {
		n.value = text
		return
	}
	n.children, n.full = nil, true
	if text != "" {
		n.add(newNode(xmlText, "#text", text))
	}
}

// take takes a node out of where it is.
func (n *xmlNode) take() {
	if n.parent == nil {
		return
	}
	other := func(c *xmlNode) bool { return c == n }
	n.parent.children = slices.DeleteFunc(n.parent.children, other)
	n.parent.attrs = slices.DeleteFunc(n.parent.attrs, other)
	n.parent = nil
}

// put puts a node into another, at a place.
func (n *xmlNode) put(child *xmlNode, at int) {
	child.take()
	child.parent = n
	n.full = true
	n.children = slices.Insert(n.children, min(at, len(n.children)), child)
}

// clone returns a copy of a node, with what is in it if deep.
func (n *xmlNode) clone(deep bool) *xmlNode {
	c := newNode(n.kind, n.name, n.value)
	c.full = n.full
	for _, a := range n.attrs {
		c.setAttr(a.name, a.value)
	}
	if deep {
		for _, child := range n.children {
			c.add(child.clone(true))
		}
	}
	return c
}

//nolint:gochecknoglobals // A replacer is made once, and is used by many at a time.
var (
	xmlEscapes     = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	xmlAttrEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#xA;", "\r", "&#xD;")
)

// write writes a node: OuterXml, or with an indent as Save does.
func (n *xmlNode) write(b *strings.Builder, indent, newline string, depth int) {
	switch n.kind {
	case xmlDocument:
		n.writeChildren(b, indent, newline, depth)
	case xmlText:
		b.WriteString(xmlEscapes.Replace(n.value))
	case xmlCData:
		b.WriteString("<![CDATA[" + n.value + "]]>")
	case xmlComment:
		b.WriteString("<!--" + n.value + "-->")
	case xmlDeclaration, xmlInstruction:
		b.WriteString("<?" + strings.TrimSpace(n.name+" "+n.value) + "?>")
	case xmlDocType:
		b.WriteString("<!" + n.value + ">")
	case xmlAttribute:
		b.WriteString(n.name + `="` + xmlAttrEscapes.Replace(n.value) + `"`)
	case xmlElement:
		b.WriteString("<" + n.name)
		for _, a := range n.attrs {
			b.WriteByte(' ')
			a.write(b, "", "", 0)
		}

		if len(n.children) == 0 && !n.full {
			b.WriteString(" />")
			return
		}

		b.WriteByte('>')
		n.writeChildren(b, indent, newline, depth+1) // also the line of an end tag alone, as .NET has it
		b.WriteString("</" + n.name + ">")
	}
}

// writeChildren writes what is in a node; each child has a line, unless there is text among them.
func (n *xmlNode) writeChildren(b *strings.Builder, indent, newline string, depth int) {
	text := slices.ContainsFunc(n.children, func(c *xmlNode) bool { return c.kind == xmlText || c.kind == xmlCData })
	lines := indent != "" && !text
	for i, c := range n.children {
		if lines && (n.kind != xmlDocument || i > 0) {
			b.WriteString(newline + strings.Repeat(indent, depth))
		}
		if lines {
			c.write(b, indent, newline, depth)
		} else {
			c.write(b, "", "", 0)
		}
	}

	if lines && n.kind != xmlDocument {
		b.WriteString(newline + strings.Repeat(indent, depth-1))
	}
}

// outer returns OuterXml.
func (n *xmlNode) outer() string {
	var b strings.Builder
	n.write(&b, "", "", 0)
	return b.String()
}

// inner returns InnerXml.
func (n *xmlNode) inner() string {
	if n.kind == xmlAttribute {
		return n.value
	}
	var b strings.Builder
	for _, c := range n.children {
		c.write(&b, "", "", 0)
	}
	return b.String()
}
