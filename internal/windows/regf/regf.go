// Package regf reads registry hives in the form in which Windows keeps them on disk, "regf". A layer of a Windows image
// brings what it changes in the registry as such files: differencing hives (Hives/Software_Delta and others). Their
// keys say how they lie over those of the layers below.
//
// The format is described at
// https://github.com/msuhanov/regf/blob/master/Windows%20registry%20file%20format%20specification.md. A hive may come
// from anybody: its sizes, its depth and the number of its keys have bounds, and a cell is never looked for outside of
// the file. The logs of changes that Windows keeps beside a hive are not read; a layer has none.
package regf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// The most that a hive may have. A whole SOFTWARE hive of Windows Server has some 100,000 keys and 60 MiB.
const (
	MaxSize   = 128 << 20
	maxKeys   = 300_000
	maxValues = 1_000_000
	maxDepth  = 512 // that of Windows
	maxName   = 512 // bytes of a key's name; Windows allows 255 characters
	// maxData is the sum of all values' names and data and of all paths, which the file does not bound: a value and a
	// key may have many places, and values may share their data.
	maxData = MaxSize
)

// ErrFormat says that a file is no hive, or a broken one.
var ErrFormat = errors.New("not a registry hive, or a damaged one")

// ErrTooLarge says that a hive has more in it than is read.
var ErrTooLarge = errors.New("registry hive is too large")

// Layer says how a key lies over the key of the same path in the hives below.
type Layer byte

// How a key lies over others ("Layer semantics" of a key node).
const (
	// Merge: its values and subkeys are added.
	Merge Layer = iota
	// Tombstone: the key is deleted.
	Tombstone
	// Replace: the key's values take the place of those below, and so does the key itself; subkeys say it for
	// themselves.
	Replace
	// ReplaceTree: as Replace, with all subkeys.
	ReplaceTree
)

// Key is a key with its values.
type Key struct {
	// Path are the names from the root of the hive, with back slashes; "" is the root itself.
	Path   string
	Layer  Layer
	Values []Value
}

// Value is a value of a key.
type Value struct {
	// Name is "" for the default value.
	Name string
	// Type is REG_SZ (1) and the others
	// (https://learn.microsoft.com/windows/win32/sysinfo/registry-value-types).
	Type uint32
	Data []byte
	// Tombstone: the value is deleted from the hives below.
	Tombstone bool
}

// Walk calls visit for each key of a hive, parents first. It ends with the first error of visit.
func Walk(file []byte, visit func(Key) error) error {
	h, root, err := open(file)
	if err != nil {
		return err
	}
	return h.walk(root, "", 0, visit)
}

type hive struct {
	bins []byte // what follows the base block
	// big: data of more than bigSegment bytes is in segments.
	big                bool
	keys, values, data int
}

// Sizes and offsets in the file.
const (
	baseBlock  = 4096
	keyNode    = 76
	keyValue   = 20
	bigSegment = 16344
	none       = 0xffffffff
)

// Flags of keys and values.
const (
	keyASCII       = 0x0020
	valueASCII     = 0x0001
	valueTombstone = 0x0002
)

func open(file []byte) (*hive, uint32, error) {
	if len(file) > MaxSize {
		return nil, 0, ErrTooLarge
	}
	if len(file) < baseBlock || string(file[:4]) != "regf" || binary.LittleEndian.Uint32(file[20:]) != 1 {
		return nil, 0, ErrFormat
	}

	bins := file[baseBlock:]
	size := binary.LittleEndian.Uint32(file[40:])
	if uint64(size) > uint64(len(bins)) {
		return nil, 0, fmt.Errorf("%d bytes of %d are there: %w", len(bins), size, ErrFormat)
	}
	return &hive{bins: bins[:size], big: u32(file, 24) > 3}, u32(file, 36), nil
}

// cell returns the data of the cell at an offset, at least so many bytes.
func (h *hive) cell(offset uint32, least int) ([]byte, error) {
	if uint64(offset)+4 > uint64(len(h.bins)) {
		return nil, fmt.Errorf("cell at %#x lies outside: %w", offset, ErrFormat)
	}
	size := -int64(int32(binary.LittleEndian.Uint32(h.bins[offset:]))) // that of a cell in use is negative
	if size < int64(least)+4 || uint64(offset)+uint64(size) > uint64(len(h.bins)) {
		return nil, fmt.Errorf("cell at %#x has %d bytes: %w", offset, size, ErrFormat)
	}
	return h.bins[offset+4 : uint64(offset)+uint64(size)], nil
}

func u16(b []byte, at int) int    { return int(binary.LittleEndian.Uint16(b[at:])) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

func (h *hive) walk(offset uint32, parent string, depth int, visit func(Key) error) error {
	if h.keys++; h.keys > maxKeys || depth > maxDepth {
		return ErrTooLarge
	}

	node, err := h.cell(offset, keyNode)
	if err != nil {
		return err
	}
	if string(node[:2]) != "nk" {
		return fmt.Errorf("cell at %#x is no key: %w", offset, ErrFormat)
	}

	key := Key{Path: parent, Layer: Layer(node[13] & 3)}
	if depth > 0 { // the root's name is not part of a path
		name, ok := nameOf(node)
		if !ok {
			return fmt.Errorf("name of the key at %#x: %w", offset, ErrFormat)
		}
		if key.Path = name; parent != "" {
			key.Path = parent + `\` + name
		}
	}

	if h.data += len(key.Path); h.data > maxData { // a key may lie in itself
		return ErrTooLarge
	}
	if key.Layer != Tombstone {
		if key.Values, err = h.valuesOf(node); err != nil {
			return fmt.Errorf("values of key %q: %w", key.Path, err)
		}
	}

	if err := visit(key); err != nil {
		return err
	}
	if key.Layer == Tombstone || u32(node, 20) == 0 {
		return nil
	}

	return h.subkeys(u32(node, 28), true, func(child uint32) error { return h.walk(child, key.Path, depth+1, visit) })
}

// nameOf returns the name of a key, if it is one that a key can have.
func nameOf(node []byte) (string, bool) {
	if u16(node, 72) > maxName {
		return "", false
	}
	name, err := text(node[keyNode:], u16(node, 72), u16(node, 2)&keyASCII != 0)
	return name, err == nil && len(name) <= maxName && name != "" && !strings.ContainsAny(name, "\\\x00")
}

// subkeys calls each for the keys of a list; a list of lists may not have another in it.
func (h *hive) subkeys(offset uint32, lists bool, each func(uint32) error) error {
	list, err := h.cell(offset, 4)
	if err != nil {
		return err
	}

	size, do := 4, each
	switch kind := string(list[:2]); {
	case kind == "lf" || kind == "lh":
		size = 8
	case kind == "li":
	case kind == "ri" && lists:
		do = func(inner uint32) error {
			if h.keys++; h.keys > maxKeys { // or empty lists could be read for ever
				return ErrTooLarge
			}
			return h.subkeys(inner, false, each)
		}

	default:
		return fmt.Errorf("list of keys at %#x is of kind %q: %w", offset, kind, ErrFormat)
	}

	count := u16(list, 2)
	if 4+count*size > len(list) {
		return fmt.Errorf("list of keys at %#x: %w", offset, ErrFormat)
	}
	for i := range count {
		if err := do(u32(list, 4+i*size)); err != nil {
			return err
		}
	}

	return nil
}

func (h *hive) valuesOf(node []byte) ([]Value, error) {
	count := u32(node, 36)
	if count == 0 {
		return nil, nil
	}
	if h.values += int(min(count, maxValues)); h.values > maxValues {
		return nil, ErrTooLarge
	}

	list, err := h.cell(u32(node, 40), 4*int(min(count, maxValues)))
	if err != nil {
		return nil, err
	}

	values := make([]Value, 0, count)
	for i := range int(count) {
		v, err := h.value(u32(list, 4*i))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}

	return values, nil
}

func (h *hive) value(offset uint32) (Value, error) {
	cell, err := h.cell(offset, keyValue)
	if err != nil {
		return Value{}, err
	}
	if string(cell[:2]) != "vk" {
		return Value{}, fmt.Errorf("cell at %#x is no value: %w", offset, ErrFormat)
	}

	flags := u16(cell, 16)
	if h.data += u16(cell, 2); h.data > maxData {
		return Value{}, ErrTooLarge
	}
	name, err := text(cell[keyValue:], u16(cell, 2), flags&valueASCII != 0)
	if err != nil {
		return Value{}, fmt.Errorf("name of the value at %#x: %w", offset, err)
	}

	v := Value{
		Name:      name,
		Type:      u32(cell, 12),
		Tombstone: flags&valueTombstone != 0,
	}
	if v.Tombstone {
		return v, nil
	}

	v.Data, err = h.dataOf(cell)
	if err != nil {
		return Value{}, fmt.Errorf("data of the value at %#x: %w", offset, err)
	}

	return v, nil
}

// dataOf returns the data of a value: in its own cell, in another, or in several.
func (h *hive) dataOf(cell []byte) ([]byte, error) {
	const inline = 1 << 31
	size, offset := u32(cell, 4), u32(cell, 8)
	if size&inline != 0 {
		if size &^= inline; size > 4 {
			return nil, ErrFormat
		}
		return cell[8 : 8+size], nil
	}

	if size == 0 || offset == none {
		return nil, nil
	}
	if h.data += int(min(size, maxData)); h.data > maxData {
		return nil, ErrTooLarge
	}

	if !h.big || size <= bigSegment {
		data, err := h.cell(offset, int(size))
		if err != nil {
			return nil, err
		}
		return data[:size], nil
	}

	head, err := h.cell(offset, 8)
	if err != nil {
		return nil, err
	}
	if string(head[:2]) != "db" {
		return nil, ErrFormat
	}

	return h.segments(head, int(size))
}

func (h *hive) segments(head []byte, size int) ([]byte, error) {
	count := u16(head, 2)
	list, err := h.cell(u32(head, 4), 4*count)
	if err != nil {
		return nil, err
	}

	var data []byte
	for i := range count {
		want := min(size-len(data), bigSegment)
		segment, err := h.cell(u32(list, 4*i), want)
		if err != nil {
			return nil, err
		}
		data = append(data, segment[:want]...)
	}
	if len(data) != size {
		return nil, ErrFormat
	}

	return data, nil
}

// text returns a name: one byte for each character (ISO 8859-1), or UTF-16.
func text(b []byte, size int, narrow bool) (string, error) {
	if size > len(b) || (!narrow && size%2 != 0) {
		return "", ErrFormat
	}

	if narrow {
		runes := make([]rune, size)
		for i := range runes {
			runes[i] = rune(b[i])
		}
		return string(runes), nil
	}

	units := make([]uint16, size/2)
	for i := range units {
		units[i] = uint16(u16(b, 2*i))
	}

	return string(utf16.Decode(units)), nil
}
