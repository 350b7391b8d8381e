package powershell

import (
	endian "encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// registryValue is a value of a key, as Windows keeps it.
type registryValue struct {
	name string // "" is the key's default value
	kind uint32
	data []byte
}

// The types of values (https://learn.microsoft.com/en-us/windows/win32/sysinfo/registry-value-types). kindUnknown is a
// type that is not given.
const (
	kindNone    = 0
	kindString  = 1
	kindExpand  = 2
	kindBinary  = 3
	kindDWord   = 4
	kindBig     = 5
	kindMulti   = 7
	kindQWord   = 11
	kindUnknown = math.MaxUint32
)

// valueKinds are the types that a value can be given, by PowerShell's names in lower case.
func valueKinds() map[string]uint32 {
	return map[string]uint32{
		"string": kindString, "expandstring": kindExpand, "binary": kindBinary, "dword": kindDWord,
		"multistring": kindMulti, "qword": kindQWord,
	}
}

// findValue finds a value by its name.
func findValue(values []registryValue, name string) (registryValue, bool) {
	i := slices.IndexFunc(values, func(v registryValue) bool { return strings.EqualFold(v.name, name) })
	if i < 0 {
		return registryValue{}, false
	}
	return values[i], true
}

// value is the value as PowerShell has it. What is there may have any length, whatever its type is.
func (v registryValue) value(env map[string]string) (value, error) {
	switch v.kind {
	case kindString:
		return v.text(), nil
	case kindExpand:
		return expandPercent(v.text(), env), nil
	case kindMulti:
		out := []value{}
		for _, s := range v.texts() {
			out = append(out, s)
		}
		return out, nil
	case kindDWord, kindQWord:
		if len(v.data) > 8 {
			return byteList(v.data), nil
		}
		n := v.number()
		if n > math.MaxInt64 {
			return nil, thrown("The number %d of the registry, with 64 bits, is not part of Mullion's PowerShell.", n)
		}
		return int64(n), nil
	case kindNone, kindBinary, kindBig:
		return byteList(v.data), nil
	}
	return nil, nil
}

// units are the data as characters of UTF-16.
func (v registryValue) units() []uint16 {
	units := make([]uint16, len(v.data)/2)
	for i := range units {
		units[i] = endian.LittleEndian.Uint16(v.data[2*i:])
	}
	return units
}

// text is the value as text, without the zero at its end.
func (v registryValue) text() string {
	units := v.units()
	if n := len(units); n > 0 && units[n-1] == 0 {
		units = units[:n-1]
	}
	return string(utf16.Decode(units))
}

// texts are the texts of a list: each ends with a zero, and the list with one more.
func (v registryValue) texts() []string {
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

// number is the value as a number.
func (v registryValue) number() uint64 {
	var whole [8]byte
	copy(whole[:], v.data)
	return endian.LittleEndian.Uint64(whole[:])
}

// textData are texts as Windows keeps them, each with a zero at its end.
func textData(texts ...string) []byte {
	var data []byte
	for _, s := range texts {
		for _, u := range append(utf16.Encode([]rune(s)), 0) {
			data = endian.LittleEndian.AppendUint16(data, u)
		}
	}
	return data
}

// storedName is the name that Windows has for a value's name of PowerShell.
func storedName(name string) string {
	if strings.EqualFold(name, valueName("")) {
		return ""
	}
	return name
}

// newValue makes a value of a type, or if none is given, of the type that the value has or that is natural for it.
func (c *call) newValue(name string, v value, kind, before uint32) (registryValue, error) {
	if kind == kindUnknown && before != kindUnknown {
		if data, err := dataOf(before, v); err == nil && data != nil {
			return registryValue{name, before, data}, nil
		}
	}
	if kind == kindUnknown {
		kind = kindString
		switch n := v.(type) {
		case []value, *arrayList, span:
			return registryValue{}, thrown(
				"%s : a list for the registry, without its type, is not part of Mullion's PowerShell.", c.name)
		case int64:
			kind = kindDWord
			if int64(int32(n)) != n { // checks that it fits
				kind = kindQWord
			}
		}
	}
	data, err := dataOf(kind, v)
	return registryValue{name, kind, data}, err
}

// dataOf converts a value to a type of the registry. It is nil for a type that cannot be made.
func dataOf(kind uint32, v value) ([]byte, error) {
	switch kind {
	case kindString, kindExpand:
		return textData(text(v)), nil
	case kindMulti:
		var all []string
		for item := range each(v) {
			all = append(all, text(item))
		}
		return textData(append(all, "")...), nil
	case kindBinary:
		data := []byte{}
		for item := range each(v) {
			n, err := numberOf(item, 0, math.MaxUint8, "Byte", "an unsigned byte")
			if err != nil {
				return nil, err
			}
			data = append(data, byte(n))
		}
		return data, nil
	case kindDWord:
		n, err := numberOf(v, math.MinInt32, math.MaxUint32, "UInt32", "a UInt32")
		return endian.LittleEndian.AppendUint32(nil, uint32(n)), err // numberOf has checked it
	case kindQWord:
		if f, ok := v.(float64); ok && f >= math.MaxInt64 && f < math.MaxUint64 {
			return endian.LittleEndian.AppendUint64(nil, uint64(f)), nil
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(text(v)), 10, 64); err == nil {
			return endian.LittleEndian.AppendUint64(nil, n), nil
		}
		n, err := numberOf(v, math.MinInt64, math.MaxInt64, "UInt64", "a UInt64")
		return endian.LittleEndian.AppendUint64(nil, uint64(n)), err // so a negative number is kept
	}
	return nil, nil
}

// numberOf converts a value to a number between two bounds, of .NET's type to, which its messages call called.
func numberOf(v value, least, most int64, to, called string) (int64, error) {
	if l, ok := v.([]value); ok && len(l) == 1 {
		v = l[0]
	}
	switch v.(type) {
	case nil, bool, int64, float64, string, enum:
	default:
		return 0, itsWords("Cannot convert the \"%s\" value of type \"%s\" to type \"System.%s\".", text(v),
			typeName(v), to)
	}
	n, err := integer(v)
	why := "Input string was not in a correct format."
	if err == nil && least <= n && n <= most {
		return n, nil
	}
	if _, noNumber := floating(v); err == nil || noNumber == nil {
		why = fmt.Sprintf("Value was either too large or too small for %s.", called)
	}
	return 0, itsWords("Cannot convert value \"%s\" to type \"System.%s\". Error: \"%s\"", text(v), to, why)
}
