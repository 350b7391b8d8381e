package stream

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Stream is a System.IO.Stream, read or written.
type Stream struct {
	R     io.Reader
	Write func([]byte) error
	Close func() error
}

// part returns the part of a list of bytes that the arguments offset and count name.
func part(c *object.Call) (from, count int64, err error) {
	list, ok := c.Arg(0).([]object.Value)
	if !ok {
		return 0, 0, object.Raise("System.ArgumentNullException", "Buffer cannot be null.\nParameter name: buffer")
	}
	if from, err = c.Whole(1); err != nil {
		return 0, 0, err
	}

	if count, err = c.Whole(2); err != nil {
		return 0, 0, err
	}
	if from < 0 || count < 0 || from > int64(len(list)) || count > int64(len(list))-from {
		return 0, 0, object.Raise("System.ArgumentOutOfRangeException",
			"Specified argument was out of the range of valid values.\nParameter name: size")
	}

	return from, count, nil
}

// Class returns the class System.IO.Stream (https://learn.microsoft.com/en-us/dotnet/api/system.io.stream).
func Class() *object.Class {
	end := func(c *object.Call) (object.Value, error) {
		if s := object.Own[*Stream](c.On); s.Close != nil {
			return nil, s.Close()
		}
		return nil, nil
	}

	return &object.Class{
		Name: "System.IO.Stream",
		Props: []object.Field{
			{
				Name: "CanRead",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*Stream](v).R != nil, nil
				},
			},
			{
				Name: "CanWrite",
				Get: func(_ *session.State, v object.Value) (object.Value, error) {
					return object.Own[*Stream](v).Write != nil, nil
				},
			},
		},
		Methods: []object.Method{
			{
				Name:  "Write",
				Least: 3,
				Most:  3,
				Do: func(c *object.Call) (object.Value, error) {
					from, count, err := part(c)
					if err != nil {
						return nil, err
					}
					data, err := object.BytesOf(c.Arg(0).([]object.Value)[from : from+count])
					if err != nil {
						return nil, err
					}

					return nil, object.Own[*Stream](c.On).put(data)
				},
			},
			{
				Name:  "WriteByte",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					data, err := object.BytesOf(c.Arg(0))
					if err != nil {
						return nil, err
					}
					return nil, object.Own[*Stream](c.On).put(data)
				},
			},
			{
				Name:  "Read",
				Least: 3,
				Most:  3,
				Do: func(c *object.Call) (object.Value, error) {
					from, count, err := part(c)
					if err != nil {
						return nil, err
					}
					return object.Own[*Stream](c.On).fill(c.Arg(0).([]object.Value)[from : from+count])
				},
			},
			{Name: "Flush", Do: func(*object.Call) (object.Value, error) { return nil, nil }}, // what is written is on its way
			{Name: "Close", Do: end},
			{Name: "Dispose", Do: end},
		},
	}
}

func (s *Stream) put(data []byte) error {
	if s.Write == nil {
		return object.Raise("System.NotSupportedException", "Stream does not support writing.")
	}
	return s.Write(data)
}

// fill reads as much as there is at once into a list, and returns how much that was.
func (s *Stream) fill(list []object.Value) (object.Value, error) {
	if s.R == nil {
		return nil, object.Raise("System.NotSupportedException", "Stream does not support reading.")
	}
	if len(list) == 0 {
		return int64(0), nil
	}

	data := make([]byte, len(list))
	n, err := s.R.Read(data)
	copy(list, object.ByteList(data[:n]))
	if errors.Is(err, io.EOF) {
		err = nil
	}

	return int64(n), err
}

// Encoding is a System.Text.Encoding.
type Encoding struct {
	name, Web string
	Decode    func(data []byte) string
	Encode    func(s string) []byte
}

// UTF8Encoding returns UTF-8, with a mark at the beginning or without.
func UTF8Encoding() *Encoding {
	return &Encoding{
		"UTF8Encoding", "utf-8",
		func(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") },
		func(s string) []byte { return []byte(s) },
	}
}

// narrow returns an encoding of one byte a character; others than it has are question marks.
func narrow(name, web string, last rune) *Encoding {
	return &Encoding{
		name, web,
		func(data []byte) string {
			var b strings.Builder
			for _, c := range data {
				if rune(c) > last {
					b.WriteByte('?')
				} else {
					b.WriteRune(rune(c))
				}
			}

			return b.String()
		},
		func(s string) []byte {
			var out []byte
			for _, u := range utf16.Encode([]rune(s)) {
				if rune(u) > last {
					u = '?'
				}
				out = append(out, byte(u))
			}
			return out
		},
	}
}

// Western returns Windows' code page 1252, the encoding of text that names none. In 32 characters it differs from
// ISO 8859-1.
func Western() *Encoding {
	latin := narrow("SBCSCodePageEncoding", "Windows-1252", 0xff)
	page := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
	return &Encoding{
		latin.name, latin.Web,
		func(data []byte) string {
			return strings.Map(func(r rune) rune {
				if r >= 0x80 && r < 0xa0 {
					return page[r-0x80]
				}
				return r
			}, latin.Decode(data))
		},
		func(s string) []byte {
			return latin.Encode(strings.Map(func(r rune) rune {
				if i := slices.Index(page, r); i >= 0 {
					return 0x80 + rune(i) // less than 32
				}
				return r
			}, s))
		},
	}
}

// wide returns UTF-16, the low or the high byte first.
func wide(big bool) *Encoding {
	low, high := 0, 1
	name := "utf-16"
	if big {
		low, high = 1, 0
		name = "utf-16BE"
	}

	return &Encoding{
		"UnicodeEncoding", name,
		func(data []byte) string {
			units := make([]uint16, 0, len(data)/2)
			for ; len(data) >= 2; data = data[2:] {
				units = append(units, uint16(data[low])|uint16(data[high])<<8)
			}
			return string(utf16.Decode(units))
		},
		func(s string) []byte {
			var out []byte
			for _, u := range utf16.Encode([]rune(s)) {
				two := [2]byte{}
				two[low], two[high] = byte(u), byte(u>>8)
				out = append(out, two[:]...)
			}
			return out
		},
	}
}

// EncodingNamed finds an encoding by its name on the web, nil for one that is not implemented.
func EncodingNamed(name string) *Encoding {
	switch strings.ToLower(name) {
	case "utf-8", "utf8":
		return UTF8Encoding()
	case "us-ascii", "ascii":
		return narrow("ASCIIEncoding", "us-ascii", 0x7f)
	case "utf-16", "unicode", "utf-16le":
		return wide(false)
	case "utf-16be", "bigendianunicode":
		return wide(true)
	case "windows-1252":
		return Western()
	case "iso-8859-1":
		return narrow("Latin1Encoding", "iso-8859-1", 0xff)
	}

	return nil
}

// CharsetOf returns the encoding that a Content-Type names, or nil.
func CharsetOf(contentType string) *Encoding {
	_, charset, _ := strings.Cut(strings.ToLower(contentType), "charset=")
	charset, _, _ = strings.Cut(charset, ";")
	return EncodingNamed(strings.Trim(charset, `" `))
}

// EncodingOfType returns the encoding that a Content-Type names, or Windows' own.
func EncodingOfType(contentType string) object.Value {
	e := CharsetOf(contentType)
	if e == nil {
		e = Western()
	}
	return &object.Instance{Of: EncodingClass(), V: e}
}

// EncodingClass returns the class System.Text.Encoding
// (https://learn.microsoft.com/en-us/dotnet/api/system.text.encoding).
func EncodingClass() *object.Class {
	is := func(name, encoding string) object.Field {
		return object.Field{
			Name: name,
			Get: func(*session.State, object.Value) (object.Value, error) {
				return &object.Instance{Of: EncodingClass(), V: EncodingNamed(encoding)}, nil
			},
		}
	}

	of := func(name string, get func(e *Encoding) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[*Encoding](v)), nil
			},
		}
	}

	return &object.Class{
		Name: "System.Text.Encoding",
		Fields: []object.Field{
			is("UTF8", "utf-8"), is("ASCII", "us-ascii"), is("Unicode", "utf-16"), is("BigEndianUnicode", "utf-16be"),
			is("Default", "windows-1252"),
		},
		Calls: []object.Method{{
			Name:  "GetEncoding",
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				e := EncodingNamed(c.Text(0))
				if e == nil {
					return nil, object.Thrown("The encoding %q is not part of Mullion's PowerShell.", c.Text(0))
				}
				return &object.Instance{Of: EncodingClass(), V: e}, nil
			},
		}},
		Text: func(v any) string { return "System.Text." + v.(*Encoding).name },
		Props: []object.Field{
			of("WebName", func(e *Encoding) object.Value { return e.Web }),
			of("BodyName", func(e *Encoding) object.Value { return e.Web }),
		},
		Methods: []object.Method{
			{
				Name:  "GetBytes",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return object.ByteList(object.Own[*Encoding](c.On).Encode(c.Text(0))), nil
				},
			},
			{
				Name:  "GetByteCount",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return int64(len(object.Own[*Encoding](c.On).Encode(c.Text(0)))), nil
				},
			},
			{
				Name:  "GetString",
				Least: 1,
				Most:  3,
				Do: func(c *object.Call) (object.Value, error) {
					list := c.Arg(0)
					if len(c.Args) == 3 {
						from, count, err := part(c)
						if err != nil {
							return nil, err
						}
						list = list.([]object.Value)[from : from+count]
					}

					data, err := object.BytesOf(list)
					if err != nil {
						return nil, err
					}

					return object.Own[*Encoding](c.On).Decode(data), nil
				},
			},
		},
	}
}

// reader is a System.IO.StreamReader.
type reader struct {
	s        *Stream
	buffer   *bufio.Reader
	encoding *Encoding
}

// encodingOf returns the encoding that a reader or a writer is made with: the second argument, else UTF-8.
func encodingOf(c *object.Call) *Encoding {
	if e := object.Own[*Encoding](c.Arg(1)); e != nil {
		return e
	}
	return UTF8Encoding()
}

// ReaderClass returns the class System.IO.StreamReader; it reads streams, and text in one encoding.
func ReaderClass() *object.Class {
	end := func(c *object.Call) (object.Value, error) {
		if s := object.Own[*reader](c.On).s; s.Close != nil {
			return nil, s.Close()
		}
		return nil, nil
	}

	return &object.Class{
		Name: "System.IO.StreamReader",
		Make: &object.Method{
			Least: 1,
			Most:  2,
			Do: func(c *object.Call) (object.Value, error) {
				s := object.Own[*Stream](c.Arg(0))
				if s == nil || s.R == nil {
					return nil, object.Thrown("A StreamReader of %s is not part of Mullion's PowerShell.", object.TypeName(c.Arg(0)))
				}

				e := encodingOf(c)
				r := &reader{s, bufio.NewReader(s.R), e}
				if strings.HasPrefix(e.Web, "utf-16") { // whose lines do not end in one byte
					data, err := io.ReadAll(s.R)
					if err != nil {
						return nil, err
					}
					r.buffer, r.encoding = bufio.NewReader(strings.NewReader(e.Decode(data))), UTF8Encoding()
				}

				return &object.Instance{Of: ReaderClass(), V: r}, nil
			},
		},
		Props: []object.Field{{
			Name: "EndOfStream",
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				_, err := object.Own[*reader](v).buffer.Peek(1)
				return err != nil, nil // the next read returns it
			},
		}},
		Methods: []object.Method{
			{
				Name: "ReadToEnd",
				Do: func(c *object.Call) (object.Value, error) {
					r := object.Own[*reader](c.On)
					data, err := io.ReadAll(r.buffer)
					return strings.TrimPrefix(r.encoding.Decode(data), "\uFEFF"), err
				},
			},
			{Name: "ReadLine", Do: func(c *object.Call) (object.Value, error) { return object.Own[*reader](c.On).line() }},
			{Name: "Close", Do: end},
			{Name: "Dispose", Do: end},
		},
	}
}

// line returns the next line, nil at the end.
func (r *reader) line() (object.Value, error) {
	data, err := r.buffer.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		if err = nil; len(data) == 0 {
			return nil, nil
		}
	}
	return strings.TrimRight(r.encoding.Decode(data), "\r\n"), err
}

// writer is a System.IO.StreamWriter: it keeps what is written until Flush or Close.
type writer struct {
	s        *Stream
	encoding *Encoding
	newline  string
	held     strings.Builder
}

// flush writes what is held.
func (w *writer) flush() error {
	data := w.encoding.Encode(w.held.String())
	w.held.Reset()
	if len(data) == 0 {
		return nil
	}
	return w.s.put(data)
}

// WriterClass returns the class System.IO.StreamWriter of a stream.
func WriterClass() *object.Class {
	end := func(c *object.Call) (object.Value, error) {
		w := object.Own[*writer](c.On)
		if err := w.flush(); err != nil || w.s.Close == nil {
			return nil, err
		}
		return nil, w.s.Close()
	}

	write := func(end bool) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) {
			w := object.Own[*writer](c.On)
			w.held.WriteString(c.Text(0))
			if end {
				w.held.WriteString(w.newline)
			}
			return nil, nil
		}
	}

	return &object.Class{
		Name: "System.IO.StreamWriter",
		Make: &object.Method{
			Least: 1,
			Most:  2,
			Do: func(c *object.Call) (object.Value, error) {
				s := object.Own[*Stream](c.Arg(0))
				if s == nil || s.Write == nil {
					return nil, object.Thrown("A StreamWriter of %s is not part of Mullion's PowerShell.", object.TypeName(c.Arg(0)))
				}
				e := encodingOf(c)
				return &object.Instance{Of: WriterClass(), V: &writer{
					s:        s,
					encoding: e,
					newline:  c.State.Newline,
				}}, nil
			},
		},
		Methods: []object.Method{
			{Name: "Write", Least: 1, Most: 1, Do: write(false)},
			{Name: "WriteLine", Most: 1, Do: write(true)},
			{Name: "Flush", Do: func(c *object.Call) (object.Value, error) { return nil, object.Own[*writer](c.On).flush() }},
			{Name: "Close", Do: end},
			{Name: "Dispose", Do: end},
		},
	}
}
