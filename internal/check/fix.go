package check

import "mullion.dev/mullion/internal/check/manifest"

// EditOp says what an Edit does.
type EditOp string

// The edits. All of them leave order and comments of everything else as they are.
const (
	RemoveField EditOp = "remove" // the field whose key is at Pos goes, with its value
	SetValue    EditOp = "set"    // the scalar at Pos becomes Value
	RenameKey   EditOp = "rename" // the key at Pos becomes Key
	// the map at Pos (its first key in block style, its brace in flow style) gets Key: Value at its end
	InsertField EditOp = "insert"
)

// Edit is a change to the text of one document, by the position of a node. It is applied by internal/check/fix.
type Edit struct {
	Op EditOp `json:"op"`
	manifest.Pos
	Key string `json:"key,omitempty"`
	// Value is YAML in flow style: windows, "yes", {kubernetes.io/os: windows}.
	Value string `json:"value,omitempty"`
}

// Remove returns the Fix of rules whose hits are at the key of a field that means nothing on Windows.
func Remove(_ *Pod, h Hit) []Edit { return []Edit{{Op: RemoveField, Pos: h.Pos}} }
