package component

import (
	"errors"
	"fmt"
	"strings"
)

// ID says which unit of a cluster is meant. Two units are the same if their IDs are equal. Its text is made and read at
// the edges only: in files, logs, JSON and what people type.
type ID struct {
	// Part is what the unit is, for example "kubelet".
	Part string
	// Node is the node that it belongs to, "" for what a cluster has once.
	Node string
}

// Sole returns the unit of a part that a cluster has once.
func Sole(part string) ID { return ID{Part: part} }

// Soles returns the units of parts that a cluster has once.
func Soles(parts ...string) []ID {
	ids := make([]ID, len(parts))
	for i, part := range parts {
		ids[i] = Sole(part)
	}

	return ids
}

// OfNode returns the unit of a part of a node.
func OfNode(part, node string) ID { return ID{Part: part, Node: node} }

// ErrNoUnit says that a text names no unit.
var ErrNoUnit = errors.New("it names no unit")

// nodeMark parts the part from the node in the text of an ID.
const nodeMark = "/"

// ParseID reads the text of an ID: "kube-apiserver", or "kubelet/win-1".
func ParseID(text string) (ID, error) {
	part, node, ofNode := strings.Cut(text, nodeMark)
	if part == "" || (ofNode && node == "") || strings.Contains(node, nodeMark) {
		return ID{}, fmt.Errorf("read %q: %w", text, ErrNoUnit)
	}

	return ID{Part: part, Node: node}, nil
}

// String returns the ID's text.
func (id ID) String() string {
	if id.Node == "" {
		return id.Part
	}

	return id.Part + nodeMark + id.Node
}

// MarshalText implements encoding.TextMarshaler, for JSON and logs.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	read, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = read

	return nil
}

// Texts returns the texts of IDs, in their order.
func Texts(ids []ID) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.String()
	}

	return all
}
