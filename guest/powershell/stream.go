package powershell

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// stream is a System.IO.Stream, read or written.
type stream struct {
	r     io.Reader
	write func([]byte) error
	close func() error
}

// bytesOf is a list of numbers as bytes.
func bytesOf(v value) ([]byte, error) {
	var out []byte
	for item := range each(v) {
		n, err := integer(item)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > 255 {
			return nil, thrown("Cannot convert value %q to type \"System.Byte\".", text(item))
		}
		out = append(out, byte(n))
	}
	return out, nil
}

// byteList is bytes as a list of numbers.
func byteList(data []byte) []value {
	out := make([]value, len(data))
	for i, b := range data {
		out[i] = int64(b)
	}
	return out
}

// part is the part of a list of bytes that the arguments offset and count name.
func (c *dotCall) part() (from, count int64, err error) {
	list, ok := c.arg(0).([]value)
	if !ok {
		return 0, 0, raise("System.ArgumentNullException", "Buffer cannot be null.\nParameter name: buffer")
	}
	if from, err = c.whole(1); err != nil {
		return 0, 0, err
	}
	if count, err = c.whole(2); err != nil {
		return 0, 0, err
	}
	if from < 0 || count < 0 || from > int64(len(list)) || count > int64(len(list))-from {
		return 0, 0, raise("System.ArgumentOutOfRangeException",
			"Specified argument was out of the range of valid values.\nParameter name: size")
	}
	return from, count, nil
}

// streamClass is System.IO.Stream (https://learn.microsoft.com/en-us/dotnet/api/system.io.stream).
func streamClass() *class {
	end := func(c *dotCall) (value, error) {
		if s := own[*stream](c.on); s.close != nil {
			return nil, s.close()
		}
		return nil, nil
	}
	return &class{
		name: "System.IO.Stream",
		props: []field{
			{name: "CanRead", get: func(_ *frame, v value) (value, error) { return own[*stream](v).r != nil, nil }},
			{name: "CanWrite", get: func(_ *frame, v value) (value, error) { return own[*stream](v).write != nil, nil }},
		},
		methods: []routine{
			{name: "Write", least: 3, most: 3, do: func(c *dotCall) (value, error) {
				from, count, err := c.part()
				if err != nil {
					return nil, err
				}
				data, err := bytesOf(c.arg(0).([]value)[from : from+count])
				if err != nil {
					return nil, err
				}
				return nil, own[*stream](c.on).put(data)
			}},
			{name: "WriteByte", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				data, err := bytesOf(c.arg(0))
				if err != nil {
					return nil, err
				}
				return nil, own[*stream](c.on).put(data)
			}},
			{name: "Read", least: 3, most: 3, do: func(c *dotCall) (value, error) {
				from, count, err := c.part()
				if err != nil {
					return nil, err
				}
				return own[*stream](c.on).fill(c.arg(0).([]value)[from : from+count])
			}},
			{name: "Flush", do: func(*dotCall) (value, error) { return nil, nil }}, // what is written is on its way
			{name: "Close", do: end},
			{name: "Dispose", do: end},
		},
	}
}

func (s *stream) put(data []byte) error {
	if s.write == nil {
		return raise("System.NotSupportedException", "Stream does not support writing.")
	}
	return s.write(data)
}

// fill reads as much as there is at once into a list, and returns how much that was.
func (s *stream) fill(list []value) (value, error) {
	if s.r == nil {
		return nil, raise("System.NotSupportedException", "Stream does not support reading.")
	}
	if len(list) == 0 {
		return int64(0), nil
	}
	data := make([]byte, len(list))
	n, err := s.r.Read(data)
	copy(list, byteList(data[:n]))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return int64(n), err
}

// encoding is a System.Text.Encoding.
type encoding struct {
	name, web string
	decode    func(data []byte) string
	encode    func(s string) []byte
}

func utf8Encoding() *encoding {
	return &encoding{
		"UTF8Encoding", "utf-8",
		func(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") },
		func(s string) []byte { return []byte(s) },
	}
}

// narrow is an encoding of one byte a character; others than it has are question marks.
func narrow(name, web string, last rune) *encoding {
	return &encoding{
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

// western is Windows' code page 1252, the encoding of text that names none. In 32 characters it differs from
// ISO 8859-1.
func western() *encoding {
	latin := narrow("SBCSCodePageEncoding", "Windows-1252", 0xff)
	page := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
	return &encoding{
		latin.name, latin.web,
		func(data []byte) string {
			return strings.Map(func(r rune) rune {
				if r >= 0x80 && r < 0xa0 {
					return page[r-0x80]
				}
				return r
			}, latin.decode(data))
		},
		func(s string) []byte {
			return latin.encode(strings.Map(func(r rune) rune {
				if i := slices.Index(page, r); i >= 0 {
					return 0x80 + rune(i) // less than 32
				}
				return r
			}, s))
		},
	}
}

// wide is UTF-16, the low or the high byte first.
func wide(big bool) *encoding {
	low, high := 0, 1
	name := "utf-16"
	if big {
		low, high, name = 1, 0, "utf-16BE"
	}
	return &encoding{
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

// encodingNamed finds an encoding by its name on the web, nil for one that is not implemented.
func encodingNamed(name string) *encoding {
	switch lower(name) {
	case "utf-8", "utf8":
		return utf8Encoding()
	case "us-ascii", "ascii":
		return narrow("ASCIIEncoding", "us-ascii", 0x7f)
	case "utf-16", "unicode", "utf-16le":
		return wide(false)
	case "utf-16be", "bigendianunicode":
		return wide(true)
	case "windows-1252":
		return western()
	case "iso-8859-1":
		return narrow("Latin1Encoding", "iso-8859-1", 0xff)
	}
	return nil
}

// charsetOf is the encoding that a Content-Type names, or nil.
func charsetOf(contentType string) *encoding {
	_, charset, _ := strings.Cut(lower(contentType), "charset=")
	charset, _, _ = strings.Cut(charset, ";")
	return encodingNamed(strings.Trim(charset, `" `))
}

// encodingOfType is the encoding that a Content-Type names, or Windows' own.
func encodingOfType(contentType string) value {
	e := charsetOf(contentType)
	if e == nil {
		e = western()
	}
	return &instance{encodingClass(), e}
}

// encodingClass is System.Text.Encoding (https://learn.microsoft.com/en-us/dotnet/api/system.text.encoding).
func encodingClass() *class {
	is := func(name, encoding string) field {
		return field{name: name, get: func(*frame, value) (value, error) {
			return &instance{encodingClass(), encodingNamed(encoding)}, nil
		}}
	}
	of := func(name string, get func(e *encoding) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[*encoding](v)), nil }}
	}
	return &class{
		name: "System.Text.Encoding",
		fields: []field{
			is("UTF8", "utf-8"), is("ASCII", "us-ascii"), is("Unicode", "utf-16"), is("BigEndianUnicode", "utf-16be"),
			is("Default", "windows-1252"),
		},
		calls: []routine{{name: "GetEncoding", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			e := encodingNamed(c.text(0))
			if e == nil {
				return nil, thrown("The encoding %q is not part of Mullion's PowerShell.", c.text(0))
			}
			return &instance{encodingClass(), e}, nil
		}}},
		text: func(v any) string { return "System.Text." + v.(*encoding).name },
		props: []field{
			of("WebName", func(e *encoding) value { return e.web }),
			of("BodyName", func(e *encoding) value { return e.web }),
		},
		methods: []routine{
			{name: "GetBytes", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return byteList(own[*encoding](c.on).encode(c.text(0))), nil
			}},
			{name: "GetByteCount", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return int64(len(own[*encoding](c.on).encode(c.text(0)))), nil
			}},
			{name: "GetString", least: 1, most: 3, do: func(c *dotCall) (value, error) {
				list := c.arg(0)
				if len(c.args) == 3 {
					from, count, err := c.part()
					if err != nil {
						return nil, err
					}
					list = list.([]value)[from : from+count]
				}
				data, err := bytesOf(list)
				if err != nil {
					return nil, err
				}
				return own[*encoding](c.on).decode(data), nil
			}},
		},
	}
}

// reader is a System.IO.StreamReader.
type reader struct {
	s        *stream
	buffer   *bufio.Reader
	encoding *encoding
}

// readerClass is System.IO.StreamReader; it reads streams, and text in one encoding.
func readerClass() *class {
	end := func(c *dotCall) (value, error) {
		if s := own[*reader](c.on).s; s.close != nil {
			return nil, s.close()
		}
		return nil, nil
	}
	return &class{
		name: "System.IO.StreamReader",
		make: &routine{least: 1, most: 2, do: func(c *dotCall) (value, error) {
			s := own[*stream](c.arg(0))
			if s == nil || s.r == nil {
				return nil, thrown("A StreamReader of %s is not part of Mullion's PowerShell.", typeName(c.arg(0)))
			}
			e := own[*encoding](c.arg(1))
			if e == nil {
				e = utf8Encoding()
			}
			r := &reader{s, bufio.NewReader(s.r), e}
			if strings.HasPrefix(e.web, "utf-16") { // whose lines do not end in one byte
				data, err := io.ReadAll(s.r)
				if err != nil {
					return nil, err
				}
				r.buffer, r.encoding = bufio.NewReader(strings.NewReader(e.decode(data))), utf8Encoding()
			}
			return &instance{readerClass(), r}, nil
		}},
		props: []field{{name: "EndOfStream", get: func(_ *frame, v value) (value, error) {
			_, err := own[*reader](v).buffer.Peek(1)
			return err != nil, nil // the next read returns it
		}}},
		methods: []routine{
			{name: "ReadToEnd", do: func(c *dotCall) (value, error) {
				r := own[*reader](c.on)
				data, err := io.ReadAll(r.buffer)
				return strings.TrimPrefix(r.encoding.decode(data), "\uFEFF"), err
			}},
			{name: "ReadLine", do: func(c *dotCall) (value, error) { return own[*reader](c.on).line() }},
			{name: "Close", do: end},
			{name: "Dispose", do: end},
		},
	}
}

// line is the next line, nil at the end.
func (r *reader) line() (value, error) {
	data, err := r.buffer.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		if err = nil; len(data) == 0 {
			return nil, nil
		}
	}
	return strings.TrimRight(r.encoding.decode(data), "\r\n"), err
}

// writer is a System.IO.StreamWriter: it keeps what is written until Flush or Close.
type writer struct {
	s        *stream
	encoding *encoding
	newline  string
	held     strings.Builder
}

// flush writes what is held.
func (w *writer) flush() error {
	data := w.encoding.encode(w.held.String())
	w.held.Reset()
	if len(data) == 0 {
		return nil
	}
	return w.s.put(data)
}

// writerClass is System.IO.StreamWriter of a stream.
func writerClass() *class {
	end := func(c *dotCall) (value, error) {
		w := own[*writer](c.on)
		if err := w.flush(); err != nil || w.s.close == nil {
			return nil, err
		}
		return nil, w.s.close()
	}
	write := func(end bool) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) {
			w := own[*writer](c.on)
			w.held.WriteString(c.text(0))
			if end {
				w.held.WriteString(w.newline)
			}
			return nil, nil
		}
	}
	return &class{
		name: "System.IO.StreamWriter",
		make: &routine{least: 1, most: 2, do: func(c *dotCall) (value, error) {
			s := own[*stream](c.arg(0))
			if s == nil || s.write == nil {
				return nil, thrown("A StreamWriter of %s is not part of Mullion's PowerShell.", typeName(c.arg(0)))
			}
			e := own[*encoding](c.arg(1))
			if e == nil {
				e = utf8Encoding()
			}
			return &instance{writerClass(), &writer{s: s, encoding: e, newline: c.f.in.session.Newline}}, nil
		}},
		methods: []routine{
			{name: "Write", least: 1, most: 1, do: write(false)},
			{name: "WriteLine", most: 1, do: write(true)},
			{name: "Flush", do: func(c *dotCall) (value, error) { return nil, own[*writer](c.on).flush() }},
			{name: "Close", do: end},
			{name: "Dispose", do: end},
		},
	}
}

// characters is a text as .NET counts it, in units of UTF-16.
func characters(s string) []uint16 {
	if isASCII(s) {
		out := make([]uint16, len(s))
		for i := range len(s) {
			out[i] = uint16(s[i])
		}
		return out
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return utf16.Encode([]rune(s))
}
