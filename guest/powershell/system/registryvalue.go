package system

import (
	endian "encoding/binary"
	"slices"
	"unicode/utf16"
)

// RegistryValue is a value of a key, as Windows keeps it.
type RegistryValue struct {
	Name string // "" is the key's default value
	Kind uint32
	Data []byte
}

// The types of values (https://learn.microsoft.com/en-us/windows/win32/sysinfo/registry-value-types).
const (
	KindNone   = 0
	KindString = 1
	KindExpand = 2
	KindBinary = 3
	KindDWord  = 4
	KindBig    = 5
	KindMulti  = 7
	KindQWord  = 11
)

// units returns the data as characters of UTF-16.
func (v RegistryValue) units() []uint16 {
	units := make([]uint16, len(v.Data)/2)
	for i := range units {
		units[i] = endian.LittleEndian.Uint16(v.Data[2*i:])
	}
	return units
}

// Text returns the value as text, without the zero at its end.
func (v RegistryValue) Text() string {
	units := v.units()
	if n := len(units); n > 0 && units[n-1] == 0 {
		units = units[:n-1]
	}
	return string(utf16.Decode(units))
}

// Texts returns the texts of a list: each ends with a zero, and the list with one more.
func (v RegistryValue) Texts() []string {
	var all []string
	for units := v.units(); len(units) > 0; {
		end := slices.Index(units, 0)
		if end == 0 && len(units) == 1 {
			break // the end of the list
		}
		if end < 0 {
			end = len(units)
		}
		all = append(all, string(utf16.Decode(units[:end])))
		units = units[min(end+1, len(units)):]
	}
	return all
}

// Number returns the value as a number.
func (v RegistryValue) Number() uint64 {
	var whole [8]byte
	copy(whole[:], v.Data)
	return endian.LittleEndian.Uint64(whole[:])
}

// TextData returns texts as Windows keeps them, each with a zero at its end.
func TextData(texts ...string) []byte {
	var data []byte
	for _, s := range texts {
		for _, u := range append(utf16.Encode([]rune(s)), 0) {
			data = endian.LittleEndian.AppendUint16(data, u)
		}
	}
	return data
}
