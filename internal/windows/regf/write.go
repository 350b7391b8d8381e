package regf

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// Build writes a hive as Windows would: one bin, keys in lists with hashes, large data in segments. Keys between those
// that are given and the root are added. Paths are separated by back slashes.
func Build(keys ...Key) []byte {
	root := &node{}
	for _, k := range keys {
		at := root
		if k.Path != "" {
			for name := range strings.SplitSeq(k.Path, `\`) {
				at = at.child(name)
			}
		}
		at.key = k
	}

	b := &builder{bins: make([]byte, 32)}
	offset := b.write(root, 0, true)
	const page = 4096
	if rest := len(b.bins) % page; rest != 0 {
		free := page - rest
		b.bins = append(b.bins, make([]byte, free)...)
		binary.LittleEndian.PutUint32(b.bins[len(b.bins)-free:], uint32(free)) // a cell that is not in use
	}

	copy(b.bins, "hbin")
	binary.LittleEndian.PutUint32(b.bins[8:], uint32(len(b.bins)))
	base := make([]byte, page)
	copy(base, "regf")
	for at, value := range map[int]uint32{4: 1, 8: 1, 20: 1, 24: 5, 32: 1, 36: offset, 40: uint32(len(b.bins)), 44: 1} {
		binary.LittleEndian.PutUint32(base[at:], value)
	}

	sum := uint32(0)
	for i := 0; i < 508; i += 4 {
		sum ^= binary.LittleEndian.Uint32(base[i:])
	}

	binary.LittleEndian.PutUint32(base[508:], sum)
	return append(base, b.bins...)
}

// UTF16 returns a text as values of type REG_SZ have it, with its end.
func UTF16(text string) []byte {
	return append(wide(text), 0, 0)
}

// node is a key with those below it, by their names in capitals.
type node struct {
	name     string
	key      Key
	children map[string]*node
}

func (n *node) child(name string) *node {
	folded := strings.ToUpper(name)
	if c := n.children[folded]; c != nil {
		return c
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c := &node{name: name}
	n.children[folded] = c
	return c
}

// sorted returns the keys below a key, as Windows looks for them.
func (n *node) sorted() []*node {
	var list []*node
	for _, folded := range slices.Sorted(maps.Keys(n.children)) {
		list = append(list, n.children[folded])
	}
	return list
}

type builder struct{ bins []byte }

// cell adds a cell and returns its offset and its data.
func (b *builder) cell(size int) (uint32, []byte) {
	offset := len(b.bins)
	whole := (size + 4 + 7) / 8 * 8
	b.bins = append(b.bins, make([]byte, whole)...)
	binary.LittleEndian.PutUint32(b.bins[offset:], uint32(-int32(whole)))
	return uint32(offset), b.bins[offset+4 : offset+whole]
}

func (b *builder) numbers(numbers []uint32) uint32 {
	offset, cell := b.cell(4 * len(numbers))
	for i, n := range numbers {
		binary.LittleEndian.PutUint32(cell[4*i:], n)
	}
	return offset
}

func put16(b []byte, at, value int) { binary.LittleEndian.PutUint16(b[at:], uint16(value)) }

func put32(b []byte, at int, value uint32) { binary.LittleEndian.PutUint32(b[at:], value) }

func (b *builder) write(n *node, parent uint32, root bool) uint32 {
	name, flags := encode(n.name)
	if root {
		name, flags = []byte("root"), 0x20|0x4|0x8
	}

	offset, _ := b.cell(76 + len(name))
	var children, values []uint32
	below := n.sorted()
	for _, c := range below {
		children = append(children, b.write(c, offset, false))
	}

	for _, v := range n.key.Values {
		values = append(values, b.value(v))
	}

	list, valueList := uint32(none), uint32(none)
	if len(children) > 0 {
		list = b.list(below, children)
	}

	if len(values) > 0 {
		valueList = b.numbers(values)
	}

	security := b.security()
	cell := b.bins[offset+4:]
	copy(cell, "nk")
	put16(cell, 2, flags)
	cell[13] = byte(n.key.Layer)
	put32(cell, 16, parent)
	put32(cell, 20, uint32(len(children)))
	put32(cell, 28, list)
	put32(cell, 32, none)
	put32(cell, 36, uint32(len(values)))
	put32(cell, 40, valueList)
	put32(cell, 44, security)
	put32(cell, 48, none)
	put16(cell, 72, len(name))
	copy(cell[76:], name)

	return offset
}

// mostInList is how many keys Windows puts in one list; more are a list of lists.
const mostInList = 511

// list returns a list of keys, or a list of such lists.
func (b *builder) list(nodes []*node, offsets []uint32) uint32 {
	if len(nodes) <= mostInList {
		return b.leaf(nodes, offsets)
	}

	var leaves []uint32
	for at := 0; at < len(nodes); at += mostInList {
		end := min(at+mostInList, len(nodes))
		leaves = append(leaves, b.leaf(nodes[at:end], offsets[at:end]))
	}

	offset, cell := b.cell(4 + 4*len(leaves))
	copy(cell, "ri")
	put16(cell, 2, len(leaves))
	for i, leaf := range leaves {
		put32(cell, 4+4*i, leaf)
	}

	return offset
}

// leaf returns a list of keys with hashes of their names.
func (b *builder) leaf(nodes []*node, offsets []uint32) uint32 {
	offset, cell := b.cell(4 + 8*len(offsets))
	copy(cell, "lh")
	put16(cell, 2, len(offsets))
	for i, o := range offsets {
		hash := uint32(0)
		for _, r := range strings.ToUpper(nodes[i].name) {
			hash = hash*37 + uint32(r)
		}
		put32(cell, 4+8*i, o)
		put32(cell, 8+8*i, hash)
	}

	return offset
}

// security returns a security descriptor with nothing in it, and its own list.
func (b *builder) security() uint32 {
	offset, cell := b.cell(20 + 20)
	copy(cell, "sk")
	put32(cell, 4, offset)
	put32(cell, 8, offset)
	put32(cell, 12, 1)
	put32(cell, 16, 20)
	cell[20] = 1
	put16(cell, 22, 0x8000) // self-relative
	return offset
}

func (b *builder) value(v Value) uint32 {
	name, flags := encode(v.Name)
	if flags != 0 {
		flags = 1
	}
	if v.Tombstone {
		flags |= 2
	}

	offset, _ := b.cell(20 + len(name))
	size, data := uint32(len(v.Data)), uint32(0)
	var inline [4]byte
	switch {
	case len(v.Data) <= 4:
		copy(inline[:], v.Data)
		size |= 1 << 31
		data = binary.LittleEndian.Uint32(inline[:])
	case len(v.Data) <= bigSegment:
		data = b.raw(v.Data)
	default:
		data = b.segments(v.Data)
	}

	cell := b.bins[offset+4:]
	copy(cell, "vk")
	put16(cell, 2, len(name))
	put32(cell, 4, size)
	put32(cell, 8, data)
	put32(cell, 12, v.Type)
	put16(cell, 16, flags)
	copy(cell[20:], name)

	return offset
}

func (b *builder) raw(data []byte) uint32 {
	offset, cell := b.cell(len(data))
	copy(cell, data)
	return offset
}

func (b *builder) segments(data []byte) uint32 {
	var parts []uint32
	for part := range slices.Chunk(data, bigSegment) {
		parts = append(parts, b.raw(part))
	}
	list := b.numbers(parts)
	offset, cell := b.cell(8)
	copy(cell, "db")
	put16(cell, 2, len(parts))
	put32(cell, 4, list)
	return offset
}

// encode returns a name in one byte for each character, with the flag that says so, or in UTF-16.
func encode(name string) (encoded []byte, flags int) {
	for _, r := range name {
		if r > 0xff {
			return wide(name), 0
		}
		encoded = append(encoded, byte(r))
	}
	return encoded, 0x20
}

func wide(text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
