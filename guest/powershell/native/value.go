package native

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/object"
)

// mostText bounds the room of a text, in characters.
const mostText = 1 << 20

// put writes a value as the shape lies in memory. What it points at is kept until the function has returned.
func (s shape) put(b []byte, v object.Value, kept *[][]byte) error {
	v = object.Plain(v)
	switch s.form {
	case truth:
		if object.Truth(v) {
			b[0] = 1
		}
		return nil
	case text:
		if v == nil {
			return nil
		}
		return s.putAddress(b, encoded(object.Text(v), s.wide), kept)
	case inside:
		return s.putInside(b, v)
	case guid:
		return putGUID(b, v)
	case record:
		return s.of.put(b, v, kept)
	}

	n, err := s.whole(v)
	if err != nil {
		return err
	}
	s.putNumber(b, n)
	return nil
}

// putAddress writes where something lies.
func (shape) putAddress(b, what []byte, kept *[][]byte) error {
	*kept = append(*kept, what)
	binary.LittleEndian.PutUint64(b, uint64(address(what)))
	return nil
}

// whole returns a value as a number of the shape.
func (s shape) whole(v object.Value) (int64, error) {
	if v == nil {
		return 0, nil
	}
	if s.enum != nil {
		if e, ok := s.enum.Parsed(v); ok {
			return e.N, nil
		}
	}
	if text, ok := v.(string); ok && len([]rune(text)) == 1 && s.size <= 2 && (text[0] < '0' || text[0] > '9') {
		v = int64([]rune(text)[0]) // a char
	}

	n, err := object.Integer(v)
	if err != nil {
		return 0, err
	}
	if !s.fits(n) {
		return 0, object.Unconverted(v, s.dotnet(), object.OutOfRange(s.dotnet()))
	}
	return n, nil
}

// dotnet returns the name of a type of numbers.
func (s shape) dotnet() string {
	name := map[int]string{1: "Byte", 2: "Int16", 4: "Int32", 8: "Int64"}[s.size]
	switch {
	case s.size == 1 && s.signed:
		name = "SByte"
	case s.size > 1 && !s.signed:
		name = "U" + name
	}
	return "System." + name
}

func (s shape) putInside(b []byte, v object.Value) error {
	if v == nil {
		return nil
	}
	what := encoded(object.Text(v), s.wide)
	unit := s.size / s.count
	n := min(len(what)-unit, len(b)-unit) // a NUL always ends it
	copy(b[:n], what)
	return nil
}

// get reads a value.
func (s shape) get(b []byte) (object.Value, error) {
	switch s.form {
	case nothing:
		return nil, nil
	case truth:
		return !bytes.Equal(b[:s.size], make([]byte, s.size)), nil
	case text:
		at := uintptr(binary.LittleEndian.Uint64(b))
		if at == 0 {
			return nil, nil
		}
		return textAt(at, s.wide, mostText)
	case inside:
		return decoded(b[:s.size], s.wide), nil
	case guid:
		return guidOf(b), nil
	case record:
		return s.of.get(b)
	}

	n := s.number(b)
	if s.enum != nil {
		return object.Enum{Of: s.enum, N: n}, nil
	}
	return n, nil
}

// put writes the fields of an object of the structure; $null is one that is empty.
func (s *structure) put(b []byte, v object.Value, kept *[][]byte) error {
	if v == nil {
		return nil
	}
	o, ok := v.(*object.Object)
	if !ok || o.Class == nil || o.Class() != s.class {
		return object.CannotConvert(v, s.name)
	}
	for _, f := range s.fields {
		if err := f.shape.put(b[f.at:f.at+f.shape.size], o.Props[strings.ToLower(f.name)], kept); err != nil {
			return err
		}
	}
	return nil
}

// get returns an object with the fields as they lie there.
func (s *structure) get(b []byte) (object.Value, error) {
	o := s.empty()
	for _, f := range s.fields {
		v, err := f.shape.get(b[f.at : f.at+f.shape.size])
		if err != nil {
			return nil, err
		}
		o.Props[strings.ToLower(f.name)] = v
	}
	return o, nil
}

// empty returns an object of the structure whose fields are zero.
func (s *structure) empty() *object.Object {
	o := object.New(object.Custom)
	o.Class = func() *object.Class { return s.class }
	o.Shown = func(*object.Object) string { return s.name }
	for _, f := range s.fields {
		o.Names = append(o.Names, f.name)
		if f.shape.form == text || f.shape.form == inside {
			o.Props[strings.ToLower(f.name)] = nil
			continue
		}
		v, err := f.shape.get(make([]byte, f.shape.size))
		if err != nil {
			v = nil // a number of zeros can always be read
		}
		o.Props[strings.ToLower(f.name)] = v
	}

	return o
}

// encoded returns a text with its NUL.
func encoded(s string, wide bool) []byte {
	if !wide {
		return append(toANSI(s), 0)
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return append(out, 0, 0)
}

// decoded returns the text in a room, until its NUL.
func decoded(b []byte, wide bool) string {
	if !wide {
		if end := bytes.IndexByte(b, 0); end >= 0 {
			b = b[:end]
		}
		return fromANSI(b)
	}

	var units []uint16
	for ; len(b) >= 2; b = b[2:] {
		unit := binary.LittleEndian.Uint16(b)
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return string(utf16.Decode(units))
}

// putGUID writes a GUID, whose first three parts have the low byte first.
func putGUID(b []byte, v object.Value) error {
	if v == nil {
		return nil
	}
	digits := strings.NewReplacer("-", "", "{", "", "}", "").Replace(object.Text(v))
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != 16 {
		return object.CannotConvert(v, object.GUIDName)
	}
	for i, from := range guidOrder() {
		b[i] = raw[from]
	}
	return nil
}

func guidOf(b []byte) object.Value {
	raw := make([]byte, 16)
	for i, to := range guidOrder() {
		raw[to] = b[i]
	}
	d := hex.EncodeToString(raw)
	return &object.Instance{
		Of: object.GUIDClass(),
		V:  d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:],
	}
}

func guidOrder() [16]int { return [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15} }
