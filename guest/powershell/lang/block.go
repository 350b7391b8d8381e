package lang

import "mullion.dev/mullion/guest/powershell/object"

// Block returns the script as a value.
func (s *Script) Block() *object.ScriptBlock {
	return &object.ScriptBlock{Words: s.Text, Script: s}
}

// ScriptOf returns the script of a block.
func ScriptOf(b *object.ScriptBlock) *Script { return b.Script.(*Script) }
