package etw

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// Field is a field of an event: its name, and its value in words. Each member of a structure is a field of its own,
// behind one of the structure's name without a value, and each element of an array is one with the array's name.
type Field struct {
	Name, Value string
}

// Description is what an event of TraceLogging says of itself.
type Description struct {
	Provider string // the name of its provider
	Name     string
	Fields   []Field
}

const (
	mostFields = 4096 // of an event, with its arrays' elements
	mostDepth  = 8    // of structures in structures
)

// ErrTruncated says that the bytes of an event end before its fields do.
var ErrTruncated = errors.New("the event is shorter than its fields")

var errNotDescribed = errors.New("the event does not describe itself")

// Describe reads an event of TraceLogging. The form is that of TraceLoggingProvider.h of the Windows SDK, which
// go-winio's package etw writes. What could be read before an error is returned with it.
func (r *Record) Describe() (Description, error) {
	d := Description{Provider: r.providerName()}
	if r.Schema == nil {
		return d, errNotDescribed
	}

	m := reader{rest: sized(r.Schema)}
	m.tags()
	d.Name = m.text()
	v := &values{schema: &m, data: &reader{rest: r.Data}}
	for len(m.rest) > 0 && !m.short && v.err == nil {
		v.field(0)
	}

	d.Fields = v.fields
	if v.err == nil && (m.short || v.data.short) {
		v.err = ErrTruncated
	}

	return d, v.err
}

// providerName returns the name in the provider's traits; empty: it has none.
func (r *Record) providerName() string {
	t := reader{rest: sized(r.Traits)}
	return t.text()
}

// Text returns the text of an event that is nothing else.
func (r *Record) Text() string {
	return strings.TrimRight(utf16Text(r.Data), "\x00")
}

// sized returns the bytes behind a size, which counts itself; a size that cannot be leaves all.
func sized(b []byte) []byte {
	if len(b) < 2 {
		return nil
	}
	if n := int(binary.LittleEndian.Uint16(b)); n >= 2 && n <= len(b) {
		b = b[:n]
	}
	return b[2:]
}

// reader takes values from the beginning of bytes.
type reader struct {
	rest  []byte
	short bool // something was to be read that was not there
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short = true
		n = len(r.rest)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// number takes an unsigned number of so many bytes, 8 at most.
func (r *reader) number(size int) uint64 {
	var b [8]byte
	copy(b[:], r.take(size))
	return binary.LittleEndian.Uint64(b[:])
}

// text takes UTF-8 up to a zero.
func (r *reader) text() string {
	i := bytes.IndexByte(r.rest, 0)
	if i < 0 {
		r.short = true
		return string(r.take(len(r.rest)))
	}
	return string(r.take(i + 1)[:i])
}

// tags passes over tags: bytes of which each but the last has its highest bit set.
func (r *reader) tags() {
	for r.number(1)&more != 0 && !r.short {
		continue
	}
}

// What stands in the byte of a field's type.
const (
	more       = 0x80 // another byte follows
	typeBits   = 0x1f
	fixedArray = 0x20 // the number of elements follows in the schema
	array      = 0x40 // it stands before them in the data
	custom     = 0x60 // a description of its own follows in the schema, and the data has a size
	ofOutType  = 0x7f
)

// schema is what is known of a field.
type schema struct {
	name    string
	in, out byte
	kind    byte // 0, fixedArray, array or custom
	count   uint64
}

// next takes the description of a field.
func (r *reader) next() schema {
	s := schema{name: r.text()}
	in := byte(r.number(1))
	s.in, s.kind = in&typeBits, in&custom
	if in&more != 0 {
		out := byte(r.number(1))
		s.out = out & ofOutType
		if out&more != 0 {
			r.tags()
		}
	}

	switch s.kind {
	case fixedArray:
		s.count = r.number(2)
	case custom:
		r.take(int(r.number(2)))
	}

	return s
}

// skip passes over the descriptions of fields, with those of the structures among them.
func (r *reader) skip(fields, depth int) {
	for ; fields > 0 && !r.short && depth <= mostDepth; fields-- {
		if s := r.next(); s.in == inStruct {
			r.skip(int(s.out), depth+1)
		}
	}
}

// values reads the fields of an event.
type values struct {
	schema, data *reader
	fields       []Field
	err          error
}

func (v *values) add(name, value string) {
	if len(v.fields) == mostFields {
		v.err = fmt.Errorf("the event has more than %d fields", mostFields)
		return
	}
	v.fields = append(v.fields, Field{name, value})
}

// field reads the next field of the schema.
func (v *values) field(depth int) {
	s := v.schema.next()
	if v.err != nil || v.schema.short {
		return
	}

	count := uint64(1)
	switch s.kind {
	case fixedArray:
		count = s.count
	case array:
		count = v.data.number(2)
	case custom:
		v.add(s.name, hexBytes(v.data.take(int(v.data.number(2)))))
		return
	}

	if s.in == inStruct {
		v.structure(depth, s, count)
		return
	}

	for ; count > 0 && v.err == nil && !v.data.short; count-- {
		value, err := v.value(s.in, s.out)
		if err != nil {
			v.err = fmt.Errorf("the field %q: %w", s.name, err)
			return
		}
		v.add(s.name, value)
	}
}

// structure reads the elements of a structure, whose fields are described once.
func (v *values) structure(depth int, s schema, count uint64) {
	if depth == mostDepth {
		v.err = fmt.Errorf("the field %q: more than %d structures in one another", s.name, mostDepth)
		return
	}
	begin := v.schema.rest
	if count == 0 || v.data.short {
		v.schema.skip(int(s.out), depth)
		return
	}

	for ; count > 0 && v.err == nil && !v.data.short && !v.schema.short; count-- {
		v.schema.rest = begin
		v.add(s.name, "")
		for range s.out {
			v.field(depth + 1)
		}
	}
}

// Types of values (TlgIn_t in TraceLoggingProvider.h).
const (
	inUnicode       = 1
	inANSI          = 2
	inInt8          = 3
	inUint8         = 4
	inInt16         = 5
	inUint16        = 6
	inInt32         = 7
	inUint32        = 8
	inInt64         = 9
	inUint64        = 10
	inFloat         = 11
	inDouble        = 12
	inBool32        = 13
	inBinary        = 14
	inGUID          = 15
	inFileTime      = 17
	inSystemTime    = 18
	inSID           = 19
	inHex32         = 20
	inHex64         = 21
	inCounted       = 22
	inCountedANSI   = 23
	inStruct        = 24
	inCountedBinary = 25
)

// How values are meant (TlgOut_t).
const (
	outString  = 2
	outBoolean = 3
	outHex     = 4
	outPort    = 7
	outIPv4    = 8
	outIPv6    = 9
	outNTState = 14
	outHResult = 15
	outCode    = 37
)

// value takes a value and says it in words, as TdhFormatProperty does.
func (v *values) value(in, out byte) (string, error) {
	if text, known := v.figure(in, out); known {
		return text, nil
	}

	d := v.data
	switch in {
	case inUnicode:
		return d.unicode(), nil
	case inANSI:
		return strings.ToValidUTF8(d.text(), "\ufffd"), nil
	case inCounted:
		return utf16Text(d.take(int(d.number(2)))), nil
	case inCountedANSI:
		return strings.ToValidUTF8(string(d.take(int(d.number(2)))), "\ufffd"), nil
	case inBinary, inCountedBinary:
		return binaryText(d.take(int(d.number(2))), out), nil
	case inGUID:
		var b [16]byte
		copy(b[:], d.take(len(b)))
		return Braced(guid.FromWindowsArray(b)), nil

	case inFileTime:
		return fileTime(d.number(8)), nil
	case inSystemTime:
		return systemTime(d.take(16)), nil
	case inSID:
		return d.sid(), nil
	}

	return "", fmt.Errorf("its type %d is not known", in)
}

// figure takes a value of a type of numbers. is reports whether in is one.
func (v *values) figure(in, out byte) (text string, known bool) {
	d := v.data
	switch in {
	case inInt8, inUint8:
		return integer(d.number(1), 8, in == inInt8, out), true
	case inInt16, inUint16:
		return integer(d.number(2), 16, in == inInt16, out), true
	case inInt32, inUint32:
		return integer(d.number(4), 32, in == inInt32, out), true
	case inInt64, inUint64:
		return integer(d.number(8), 64, in == inInt64, out), true
	case inHex32:
		return fmt.Sprintf("0x%X", d.number(4)), true
	case inHex64:
		return fmt.Sprintf("0x%X", d.number(8)), true
	case inFloat:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(d.number(4)))), 'g', -1, 32), true
	case inDouble:
		return strconv.FormatFloat(math.Float64frombits(d.number(8)), 'g', -1, 64), true
	case inBool32:
		return strconv.FormatBool(d.number(4) != 0), true
	}

	return "", false
}

// Braced returns a GUID as Windows writes it.
func Braced(id guid.GUID) string { return "{" + strings.ToUpper(id.String()) + "}" }

func integer(n uint64, bits int, signed bool, out byte) string {
	switch out {
	case outBoolean:
		return strconv.FormatBool(n != 0)
	case outHex, outNTState, outHResult, outCode:
		return fmt.Sprintf("0x%X", n)
	case outString:
		if bits == 8 || bits == 16 {
			return string(utf16.Decode([]uint16{uint16(n)}))
		}

	case outPort:
		if bits == 16 { // in the byte order of networks
			return strconv.FormatUint(n&0xff<<8|n>>8, 10)
		}

	case outIPv4:
		if bits == 32 {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], uint32(n))
			return netip.AddrFrom4(b).String()
		}
	}

	if signed {
		return strconv.FormatInt(int64(n<<(64-bits))>>(64-bits), 10)
	}

	return strconv.FormatUint(n, 10)
}

func binaryText(b []byte, out byte) string {
	if out == outIPv6 {
		if a, ok := netip.AddrFromSlice(b); ok {
			return a.String()
		}
	}
	return hexBytes(b)
}

func hexBytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return "0x" + strings.ToUpper(hex.EncodeToString(b))
}

// Hex returns the data of an event that does not describe itself.
func (r *Record) Hex() string { return hexBytes(r.Data) }

func utf16Text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// unicode takes UTF-16 up to a zero.
func (r *reader) unicode() string {
	for i := 0; i+1 < len(r.rest); i += 2 {
		if r.rest[i] == 0 && r.rest[i+1] == 0 {
			return utf16Text(r.take(i + 2)[:i])
		}
	}
	r.short = true
	return utf16Text(r.take(len(r.rest)))
}

// sid takes a SID: revision, number of parts, six bytes of an authority, the parts.
func (r *reader) sid() string {
	head := r.take(8)
	if len(head) < 8 {
		return ""
	}

	var authority [8]byte
	copy(authority[2:], head[2:])
	var text strings.Builder
	fmt.Fprintf(&text, "S-%d-%d", head[0], binary.BigEndian.Uint64(authority[:]))
	for range head[1] {
		if r.short {
			break
		}
		fmt.Fprintf(&text, "-%d", r.number(4))
	}

	return text.String()
}

const timeForm = "2006-01-02T15:04:05.0000000Z"

// fileTime returns a time in units of 100 ns since 1601.
func fileTime(n uint64) string {
	const seconds, since1601 = 10_000_000, 11_644_473_600
	return time.Unix(int64(n/seconds)-since1601, int64(n%seconds)*100).UTC().Format(timeForm)
}

// systemTime returns a SYSTEMTIME: year, month, day of the week, day, hour, minute, second, millisecond.
func systemTime(b []byte) string {
	var n [8]int
	for i := range n {
		if 2*i+1 < len(b) {
			n[i] = int(binary.LittleEndian.Uint16(b[2*i:]))
		}
	}
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", n[0], n[1], n[3], n[4], n[5], n[6], n[7])
}
