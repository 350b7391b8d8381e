package xmldoc

import (
	"slices"

	"github.com/antchfx/xpath"

	"mullion.dev/mullion/guest/powershell/object"
)

// navigator goes through a document for XPath.
type navigator struct {
	at   *xmlNode
	attr int // the attribute of at that it is on, -1: none
}

func (n *navigator) NodeType() xpath.NodeType {
	if n.attr >= 0 {
		return xpath.AttributeNode
	}

	switch n.at.kind {
	case xmlDocument:
		return xpath.RootNode
	case xmlElement:
		return xpath.ElementNode
	case xmlText, xmlCData:
		return xpath.TextNode
	}

	return xpath.CommentNode
}

// node returns the node that it is on.
func (n *navigator) node() *xmlNode {
	if n.attr >= 0 {
		return n.at.attrs[n.attr]
	}
	return n.at
}

func (n *navigator) LocalName() string { return n.node().local() }

func (n *navigator) Prefix() string { return n.node().prefix() }

// NamespaceURL returns what names with a prefix in an expression are compared with.
func (n *navigator) NamespaceURL() string { return n.node().namespace() }

func (n *navigator) Value() string { return n.node().text() }

func (n *navigator) Copy() xpath.NodeNavigator { c := *n; return &c }

func (n *navigator) MoveToRoot() { n.at, n.attr = n.at.document(), -1 }

func (n *navigator) MoveToParent() bool {
	switch {
	case n.attr >= 0:
		n.attr = -1
		return true
	case n.at.parent == nil:
		return false
	}
	n.at = n.at.parent
	return true
}

func (n *navigator) MoveToNextAttribute() bool {
	if n.attr+1 >= len(n.at.attrs) {
		return false
	}
	n.attr++
	return true
}

func (n *navigator) MoveToChild() bool {
	if n.attr >= 0 || len(n.at.children) == 0 {
		return false
	}
	n.at = n.at.children[0]
	return true
}

// beside moves to another child of the same parent.
func (n *navigator) beside(to func(i int) int) bool {
	if n.attr >= 0 || n.at.parent == nil {
		return false
	}
	all := n.at.parent.children
	i := to(slices.Index(all, n.at))
	if i < 0 || i >= len(all) {
		return false
	}
	n.at = all[i]
	return true
}

func (n *navigator) MoveToFirst() bool { return n.beside(func(int) int { return 0 }) }

func (n *navigator) MoveToNext() bool { return n.beside(func(i int) int { return i + 1 }) }

func (n *navigator) MoveToPrevious() bool { return n.beside(func(i int) int { return i - 1 }) }

func (n *navigator) MoveTo(to xpath.NodeNavigator) bool {
	other, ok := to.(*navigator)
	if !ok || other.at.document() != n.at.document() {
		return false
	}
	*n = *other
	return true
}

// selected returns the nodes that an expression means, with the prefixes of namespaces that it uses.
func (n *xmlNode) selected(expression string, spaces map[string]string) ([]*xmlNode, error) {
	compiled, err := xpath.CompileWithNS(expression, spaces)
	if err != nil {
		return nil, object.Raise("System.Xml.XPath.XPathException", "'"+expression+"' has an invalid token.")
	}

	var found []*xmlNode
	all := compiled.Select(&navigator{n, -1})
	for all.MoveNext() {
		at, ok := all.Current().(*navigator)
		if !ok {
			break
		}

		if one := at.node(); !slices.Contains(found, one) {
			found = append(found, one)
		}
		if len(found) > object.MostItems {
			return nil, object.TooLarge()
		}
	}

	return found, nil
}
