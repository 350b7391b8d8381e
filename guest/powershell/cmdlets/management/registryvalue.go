package management

import (
	endian "encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// The types of values (https://learn.microsoft.com/en-us/windows/win32/sysinfo/registry-value-types). kindUnknown is a
// type that is not given.
const (
	kindUnknown = math.MaxUint32
)

// valueKinds returns the types that a value can be given, by PowerShell's names in lower case.
func valueKinds() map[string]uint32 {
	return map[string]uint32{
		"string": system.KindString, "expandstring": system.KindExpand, "binary": system.KindBinary,
		"dword":       system.KindDWord,
		"multistring": system.KindMulti, "qword": system.KindQWord,
	}
}

// storedName returns the name that Windows has for a value's name of PowerShell.
func storedName(name string) string {
	if strings.EqualFold(name, provider.ValueName("")) {
		return ""
	}
	return name
}

// newValue makes a value of a type, or if none is given, of the type that the value has or that is natural for it.
func newValue(c *cmdlet.Call, name string, v object.Value, kind, before uint32) (system.RegistryValue, error) {
	if kind == kindUnknown && before != kindUnknown {
		if data, err := dataOf(before, v); err == nil && data != nil {
			return system.RegistryValue{
				Name: name,
				Kind: before,
				Data: data,
			}, nil
		}
	}

	if kind == kindUnknown {
		kind = system.KindString
		switch n := v.(type) {
		case []object.Value, *object.ArrayList, object.Range:
			return system.RegistryValue{}, object.Thrown(
				"%s : a list for the registry, without its type, is not part of Mullion's PowerShell.", c.Name)
		case int64:
			kind = system.KindDWord
			if int64(int32(n)) != n { // checks that it fits
				kind = system.KindQWord
			}
		}
	}

	data, err := dataOf(kind, v)
	return system.RegistryValue{
		Name: name,
		Kind: kind,
		Data: data,
	}, err
}

// dataOf converts a value to a type of the registry. It is nil for a type that cannot be made.
func dataOf(kind uint32, v object.Value) ([]byte, error) {
	switch kind {
	case system.KindString, system.KindExpand:
		return system.TextData(object.Text(v)), nil
	case system.KindMulti:
		var all []string
		for item := range object.Each(v) {
			all = append(all, object.Text(item))
		}
		return system.TextData(append(all, "")...), nil

	case system.KindBinary:
		data := []byte{}
		for item := range object.Each(v) {
			n, err := numberOf(item, 0, math.MaxUint8, "Byte", "an unsigned byte")
			if err != nil {
				return nil, err
			}
			data = append(data, byte(n))
		}

		return data, nil

	case system.KindDWord:
		n, err := numberOf(v, math.MinInt32, math.MaxUint32, "UInt32", "a UInt32")
		return endian.LittleEndian.AppendUint32(nil, uint32(n)), err // numberOf has checked it

	case system.KindQWord:
		if f, ok := v.(float64); ok && f >= math.MaxInt64 && f < math.MaxUint64 {
			return endian.LittleEndian.AppendUint64(nil, uint64(f)), nil
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(object.Text(v)), 10, 64); err == nil {
			return endian.LittleEndian.AppendUint64(nil, n), nil
		}
		n, err := numberOf(v, math.MinInt64, math.MaxInt64, "UInt64", "a UInt64")
		return endian.LittleEndian.AppendUint64(nil, uint64(n)), err // so a negative number is kept
	}

	return nil, nil
}

// numberOf converts a value to a number between two bounds, of .NET's type to, which its messages call called.
func numberOf(v object.Value, least, most int64, to, called string) (int64, error) {
	if l, ok := v.([]object.Value); ok && len(l) == 1 {
		v = l[0]
	}
	switch v.(type) {
	case nil, bool, int64, float64, string, object.Enum:
	default:
		return 0, words.Errorf("Cannot convert the \"%s\" value of type \"%s\" to type \"System.%s\".", object.Text(v),
			object.TypeName(v), to)
	}

	n, err := object.Integer(v)
	why := "Input string was not in a correct format."
	if err == nil && least <= n && n <= most {
		return n, nil
	}
	if _, noNumber := object.Floating(v); err == nil || noNumber == nil {
		why = fmt.Sprintf("Value was either too large or too small for %s.", called)
	}

	return 0, words.Errorf("Cannot convert value \"%s\" to type \"System.%s\". Error: \"%s\"", object.Text(v), to, why)
}
