// Package fix applies the edits of findings to the text of manifests. It changes the text only at the edit's place, so
// comments, order and style stay. Each change is proved: the new text is parsed, and must mean exactly what the edit
// asks for. An edit that cannot be made like that is left out.
package fix

import (
	"bytes"
	"cmp"
	"slices"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/manifest"
)

// mostRead is how much of a document is read for its edits, in bytes: it is read anew for each.
const mostRead = 1 << 20

// Apply makes the edits in the text of a file and counts those that were left out. Positions are those of text.
func Apply(text []byte, edits []check.Edit) (fixed []byte, left int) {
	edits = slices.Clone(edits)
	// From the end to the beginning, so that the positions of the remaining edits stay right.
	slices.SortStableFunc(edits, func(a, b check.Edit) int {
		return cmp.Or(cmp.Compare(b.Line, a.Line), cmp.Compare(b.Column, a.Column))
	})

	edits = slices.Compact(edits)
	lines := bytes.SplitAfter(text, []byte("\n"))
	chunks := []manifest.Chunk{}
	for c, err := range manifest.Split(bytes.NewReader(text)) {
		if err != nil || c.TooBig {
			return text, len(edits)
		}
		c.Text = slices.Clone(c.Text)
		chunks = append(chunks, c)
	}

	var out []byte
	next := 1 // the line that is not written yet
	for _, c := range chunks {
		for ; next < c.Line; next++ {
			out = append(out, lines[next-1]...)
		}

		end := c.Line + bytes.Count(c.Text, []byte("\n"))
		if !bytes.HasSuffix(c.Text, []byte("\n")) {
			end++
		}
		if whole := bytes.Join(lines[next-1:min(end-1, len(lines))], nil); !bytes.Equal(whole, c.Text) {
			return text, len(edits) // the documents' lines do not match the text
		}

		room := 1 + mostRead/(1+len(c.Text))
		for _, e := range edits {
			if e.Line < c.Line || e.Line >= end {
				continue
			}
			if room--; room < 0 {
				left++
				continue
			}

			if changed, ok := one(c, e); ok {
				c.Text = changed
			} else {
				left++
			}
		}

		out = append(out, c.Text...)
		next = end
	}

	for ; next <= len(lines); next++ {
		out = append(out, lines[next-1]...)
	}

	return out, left
}

// one makes one edit in a document, if that is proved right.
func one(c manifest.Chunk, e check.Edit) ([]byte, bool) {
	nodes, faults := manifest.Parse(c)
	if len(faults) > 0 {
		return nil, false
	}
	want := slices.Clone(nodes)
	parent, ok := change(want, e)
	if !ok {
		return nil, false
	}

	t := &text{Chunk: c}
	changed, ok := t.edit(e, parent)
	if !ok {
		return nil, false
	}
	got, faults := manifest.Parse(manifest.Chunk{Text: changed, Line: c.Line})
	if len(faults) > 0 || len(got) != len(want) || !slices.EqualFunc(got, want, same) {
		return nil, false
	}

	return changed, true
}

// parent is the map that an edit changes, as it was before.
type parent struct {
	count int // its fields
	// key is the field whose value the map is; "{}" is written after it when the map's last field is removed.
	key  *manifest.Field
	last manifest.Field
}

// change makes the edit in the tree.
func change(nodes []*manifest.Node, e check.Edit) (parent, bool) {
	for _, n := range nodes {
		if found, done := changeBelow(n, nil, e); done {
			return found, true
		}
	}
	return parent{}, false
}

// changeBelow makes the edit in n, which is the value of holder, or below it.
func changeBelow(n *manifest.Node, holder *manifest.Field, e check.Edit) (parent, bool) {
	if n == nil {
		return parent{}, false
	}
	if n.Pos == e.Pos && ((e.Op == check.SetValue && n.Kind < manifest.List) || (e.Op == check.InsertField &&
		n.Kind == manifest.Map)) {
		return changeNode(n, e)
	}

	for i := range n.Fields {
		f := &n.Fields[i]
		if (e.Op == check.RemoveField || e.Op == check.RenameKey) && f.Pos == e.Pos {
			found := parent{count: len(n.Fields), key: holder}
			if e.Op == check.RenameKey {
				f.Key = e.Key
			} else {
				n.Fields = slices.Delete(n.Fields, i, i+1)
			}
			return found, true
		}

		if found, done := changeBelow(f.Value, f, e); done {
			return found, true
		}
	}

	for _, item := range n.Items {
		if found, done := changeBelow(item, nil, e); done {
			return found, true
		}
	}

	return parent{}, false
}

// changeNode sets a scalar, or adds a field to a map.
func changeNode(n *manifest.Node, e check.Edit) (parent, bool) {
	v, ok := value(e.Value)
	if !ok {
		return parent{}, false
	}
	if e.Op == check.SetValue {
		n.Kind, n.Value = v.Kind, v.Value
		return parent{}, true
	}

	found := parent{count: len(n.Fields)}
	if found.count > 0 {
		found.last = n.Fields[found.count-1]
	}
	n.Fields = append(n.Fields, manifest.Field{Key: e.Key, Value: v})
	return found, true
}

// value reads an edit's value.
func value(text string) (*manifest.Node, bool) {
	nodes, faults := manifest.Parse(manifest.Chunk{Text: []byte(text + "\n"), Line: 1})
	if len(faults) > 0 || len(nodes) != 1 {
		return nil, false
	}
	return nodes[0], true
}

// same compares the values of nodes, not their places.
func same(a, b *manifest.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Items, b.Items, same) &&
		slices.EqualFunc(a.Fields, b.Fields,
			func(a, b manifest.Field) bool { return a.Key == b.Key && same(a.Value, b.Value) })
}
