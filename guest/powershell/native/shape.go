package native

import (
	"encoding/binary"
	"fmt"

	"mullion.dev/mullion/guest/powershell/object"
)

// form is how a value lies in memory.
type form int

const (
	nothing form = iota // void
	number
	truth
	text    // a pointer to one that ends with a NUL
	builder // a pointer to room for one
	inside  // a text of a structure, of a fixed length
	record  // a structure
	guid
	list // a pointer to numbers
)

// shape is a type as it lies in memory, on a machine of 64 bits.
type shape struct {
	form        form
	size, align int // bytes
	signed      bool
	wide        bool // texts are UTF-16
	count       int  // characters of a text inside a structure
	enum        *object.EnumType
	of          *structure
}

// structure is a declared structure, or one that .NET has.
type structure struct {
	name        string
	fields      []placed
	size, align int // bytes
	class       *object.Class
}

// placed is a field of a structure at its place.
type placed struct {
	name  string
	shape shape
	at    int
}

// primitive is a type of numbers.
type primitive struct {
	size   int
	signed bool
}

// primitives returns the types of numbers, by their names in C# and in .NET
// (https://learn.microsoft.com/dotnet/framework/interop/blittable-and-non-blittable-types).
func primitives() map[string]primitive {
	return map[string]primitive{
		"byte": {1, false}, "Byte": {1, false}, "sbyte": {1, true}, "SByte": {1, true},
		"short": {2, true}, "Int16": {2, true}, "ushort": {2, false}, "UInt16": {2, false},
		"int": {4, true}, "Int32": {4, true}, "uint": {4, false}, "UInt32": {4, false},
		"long": {8, true}, "Int64": {8, true}, "ulong": {8, false}, "UInt64": {8, false},
		"IntPtr": {8, true}, "UIntPtr": {8, false},
	}
}

// pointer is the size of one, in bytes.
const pointer = 8

// plain returns the shape of what is aligned by its size, in bytes.
func plain(f form, size int) shape {
	return shape{
		form:  f,
		size:  size,
		align: size,
	}
}

// characterSize is that of one in a text, in bytes.
func characterSize(wide bool) int {
	if wide {
		return 2
	}
	return 1
}

// shapeOf returns how a type lies in memory. look finds declared types.
func shapeOf(k kind, wide bool, look func(name string) *made) (shape, error) {
	unfit := func() (shape, error) {
		written := k.name
		if k.list {
			written += "[]"
		}
		if k.as != "" {
			written += " as UnmanagedType." + k.as
		}
		return shape{}, &Error{k.line, "the type " + written + " of a library's function or structure"}
	}

	if k.list {
		p, known := primitives()[k.name]
		if !known || (k.as != "" && k.as != "LPArray") {
			return unfit()
		}
		return shape{
			form:   list,
			size:   p.size,
			align:  p.size,
			signed: p.signed,
		}, nil
	}

	switch k.name {
	case "void":
		return shape{}, nil
	case "bool", "Boolean":
		return truthOf(k, unfit)
	case "char", "Char":
		return plain(number, characterSize(wide)), nil
	case "string", "String":
		return textOf(k, wide, unfit)
	case "StringBuilder", "Text.StringBuilder":
		s, err := textOf(k, wide, unfit)
		s.form = builder
		return s, err
	case "Guid":
		return shape{
			form:  guid,
			size:  16,
			align: 4,
		}, nil
	}

	if p, known := primitives()[k.name]; known {
		return numberShape(p), nil
	}
	if m := look(k.name); m != nil {
		return madeShape(m, unfit)
	}
	return unfit()
}

// madeShape returns how a declared type lies in memory.
func madeShape(m *made, unfit func() (shape, error)) (shape, error) {
	switch {
	case m.enum != nil:
		s := numberShape(m.numbers)
		s.enum = m.enum
		return s, nil
	case m.structure != nil:
		return shape{
			form:  record,
			size:  m.structure.size,
			align: m.structure.align,
			of:    m.structure,
		}, nil
	}

	return unfit()
}

func numberShape(p primitive) shape {
	s := plain(number, p.size)
	s.signed = p.signed
	return s
}

// truthOf returns the shape of a bool, a BOOL unless MarshalAs says otherwise.
func truthOf(k kind, unfit func() (shape, error)) (shape, error) {
	switch k.as {
	case "", "Bool":
		return plain(truth, 4), nil
	case "U1", "I1":
		return plain(truth, 1), nil
	}
	return unfit()
}

func textOf(k kind, wide bool, unfit func() (shape, error)) (shape, error) {
	s := shape{
		form:  text,
		size:  pointer,
		align: pointer,
		wide:  wide,
	}
	switch k.as {
	case "", "LPTStr":
	case "LPWStr":
		s.wide = true
	case "LPStr":
		s.wide = false
	case "ByValTStr":
		if k.size == 0 {
			return unfit()
		}
		s.form, s.count = inside, int(k.size)
		s.align = characterSize(wide)
		s.size = s.count * s.align
	default:
		return unfit()
	}

	return s, nil
}

// place gives the fields of a structure their places (https://learn.microsoft.com/dotnet/api/system.runtime.
// interopservices.structlayoutattribute.pack).
func (s *structure) place(packing int) error {
	s.align = 1
	for i := range s.fields {
		f := &s.fields[i]
		align := max(f.shape.align, 1)
		if packing > 0 {
			align = min(align, packing)
		}
		f.at = (s.size + align - 1) / align * align
		s.size = f.at + f.shape.size
		s.align = max(s.align, align)
		if s.size > mostSource {
			return fmt.Errorf("the structure %s is larger than %d bytes", s.name, mostSource)
		}
	}

	s.size = max((s.size+s.align-1)/s.align*s.align, 1)
	return nil
}

// fits reports whether a value fits a number of the shape. What a script writes as 0xFFFFFFFF is -1 in Windows
// PowerShell, and is taken as both.
func (s shape) fits(n int64) bool {
	bits := uint(8 * s.size)
	return bits >= 64 || (n >= -(1<<(bits-1)) && n < 1<<bits)
}

// putNumber writes a number.
func (s shape) putNumber(b []byte, n int64) {
	var whole [8]byte
	binary.LittleEndian.PutUint64(whole[:], uint64(n))
	copy(b, whole[:s.size])
}

// number reads a number.
func (s shape) number(b []byte) int64 {
	var whole [8]byte
	copy(whole[:], b[:s.size])
	n := int64(binary.LittleEndian.Uint64(whole[:]))
	if shift := uint(64 - 8*s.size); s.signed {
		return n << shift >> shift
	}
	return n
}
