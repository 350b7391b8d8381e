package provider

import (
	"bytes"
	endian "encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// ScriptText returns the text of a script file: by its mark UTF-8 or UTF-16, without one UTF-8, or what Windows writes
// where it is none
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_character_encoding).
func ScriptText(data []byte) string {
	for mark, order := range map[string]endian.ByteOrder{
		"\xff\xfe": endian.LittleEndian,
		"\xfe\xff": endian.BigEndian,
	} {
		rest, found := bytes.CutPrefix(data, []byte(mark))
		if !found {
			continue
		}
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = order.Uint16(rest[2*i:])
		}

		return string(utf16.Decode(units))
	}

	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if utf8.Valid(data) {
		return string(data)
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b) // Latin letters are the same in Windows' code page
	}

	return string(runes)
}
