// Package manifest reads Kubernetes manifests: it cuts a stream of YAML or JSON into documents, and turns each document
// into a tree of nodes that know their line and column. The input may be hostile: sizes, depth and aliases are bounded,
// and an unreadable document is an error with a place, after which the rest is still read. It knows nothing of
// Kubernetes' types.
package manifest

import (
	"strconv"
)

// Kind says what a node is.
type Kind uint8

// The kinds of nodes. The first four are scalars.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String names the kind as messages do.
func (k Kind) String() string {
	names := [...]string{"null", "a boolean", "a number", "a string", "a list", "a map"}
	if int(k) >= len(names) {
		return "kind " + strconv.Itoa(int(k))
	}
	return names[k]
}

// Pos is a place in a file, both from 1; the column counts characters.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Node is a value. An alias shares the node that its anchor names, so its position is that of the anchor. All methods
// accept a nil node, which stands for a missing value.
type Node struct {
	Kind Kind
	// Value is a scalar's text: "true" or "false" for a Bool, as written for a Number, decoded for a String.
	Value string
	Pos
	// Fields are a Map's fields, in the order written. If a key is there twice, only the last one counts.
	Fields []Field
	// Items are a List's items.
	Items []*Node
}

// Field is one key of a map and its value; the position is the key's.
type Field struct {
	Key string
	Pos
	Value *Node
}

// Field returns the field with a key of a map, nil if there is none.
func (n *Node) Field(key string) *Field {
	if n == nil || n.Kind != Map {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return &n.Fields[i]
		}
	}
	return nil
}

// Get follows keys down maps. It returns nil if one of them is missing.
func (n *Node) Get(keys ...string) *Node {
	for _, key := range keys {
		f := n.Field(key)
		if f == nil {
			return nil
		}
		n = f.Value
	}
	return n
}

// Text returns a scalar's text and "" for anything else.
func (n *Node) Text() string {
	if n == nil || n.Kind == List || n.Kind == Map || n.Kind == Null {
		return ""
	}
	return n.Value
}

// True reports whether the node is the boolean true.
func (n *Node) True() bool { return n != nil && n.Kind == Bool && n.Value == "true" }

// Set reports whether the node exists and is not null.
func (n *Node) Set() bool { return n != nil && n.Kind != Null }

// Elements returns a list's items, none for anything else.
func (n *Node) Elements() []*Node {
	if n == nil || n.Kind != List {
		return nil
	}
	return n.Items
}

// Int returns a number's value; ok is false if it is no whole number.
func (n *Node) Int() (value int64, ok bool) {
	if n == nil || n.Kind != Number {
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 0, 64)
	return v, err == nil
}
