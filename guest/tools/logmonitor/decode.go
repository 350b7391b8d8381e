package logmonitor

import (
	"bytes"
	"strings"
	"unicode/utf16"
)

// encoding is how the text of a file is written.
type encoding int

const (
	unknown encoding = iota
	utf8Text
	utf16Little
	utf16Big
)

// mostPending is how much of a line without an end is kept; a longer one is printed in pieces.
const mostPending = 256 << 10

// markOf tells the encoding by the first bytes of a file, and how long the mark is that says it. It is unknown as long
// as the bytes may be the beginning of a mark.
func markOf(head []byte) (enc encoding, size int64) {
	for _, mark := range []struct {
		bytes string
		enc   encoding
	}{{"\xef\xbb\xbf", utf8Text}, {"\xff\xfe", utf16Little}, {"\xfe\xff", utf16Big}} {
		if bytes.HasPrefix(head, []byte(mark.bytes)) {
			return mark.enc, int64(len(mark.bytes))
		}
		if strings.HasPrefix(mark.bytes, string(head)) {
			return unknown, 0
		}
	}
	return utf8Text, 0
}

// lines takes the lines with an end off a text, and a piece of one that is too long. What is left has no end yet.
func (enc encoding) lines(text []byte) (lines []string, rest []byte) {
	for {
		end, after := enc.end(text)
		if end < 0 && len(text) < mostPending {
			return lines, text
		}
		if end < 0 {
			end = mostPending
			after = end
		}
		lines = append(lines, enc.decode(text[:end]))
		text = text[after:]
	}
}

// end returns where the first line ends and where the next begins. It is negative if the line has no end.
func (enc encoding) end(text []byte) (end, after int) {
	if enc == utf8Text || enc == unknown {
		i := bytes.IndexByte(text, '\n')
		return i, i + 1
	}
	for i := 0; i+1 < len(text); i += 2 {
		if enc.unit(text[i:]) == '\n' {
			return i, i + 2
		}
	}
	return -1, -1
}

// unit returns the first code unit of a text in UTF-16.
func (enc encoding) unit(text []byte) uint16 {
	if enc == utf16Big {
		return uint16(text[0])<<8 | uint16(text[1])
	}
	return uint16(text[1])<<8 | uint16(text[0])
}

// decode returns a line as text, without the CR at its end. What is no text becomes U+FFFD.
func (enc encoding) decode(line []byte) string {
	text := ""
	if enc == utf8Text || enc == unknown {
		text = strings.ToValidUTF8(string(line), "\ufffd")
	} else {
		var units []uint16
		for ; len(line) > 1; line = line[2:] {
			units = append(units, enc.unit(line))
		}
		text = string(utf16.Decode(units))
	}
	return strings.TrimRight(text, "\r")
}
