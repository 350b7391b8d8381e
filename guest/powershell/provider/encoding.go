package provider

import (
	"bytes"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

// What Out-File, Tee-Object and redirections write: Windows PowerShell UTF-16 with a mark, PowerShell 6 and later UTF-8
// without one (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_character_encoding).

// ShownEncodings returns the values of -Encoding of Out-File.
func ShownEncodings() []string {
	return []string{"unicode", "string", "unknown", "bigendianunicode", "utf8", "utf8bom", "utf8nobom", "ascii", "default", "oem"}
}

// WriteShown writes text to a file in an encoding, "" for that of this PowerShell. A file begins with the encoding's
// mark; what is added to one has none, whatever its encoding is, as in Windows PowerShell.
// how is os.O_TRUNC or os.O_APPEND.
func WriteShown(s *session.State, path, content, encoding string, how int) error {
	begins := true
	if how == os.O_APPEND {
		info, err := os.Stat(path)
		begins = err != nil || info.Size() == 0
	}
	return WriteFile(path, Encoded(s, content, encoding, begins), how, false)
}

// Encoded returns a text in an encoding of ShownEncodings, with its mark where a file begins.
func Encoded(s *session.State, content, encoding string, begins bool) string {
	const mark = "\uFEFF"
	name, marked := "", false
	switch strings.ToLower(encoding) {
	case "":
		if !s.Core {
			name, marked = "utf-16", true
		}

	case "unicode", "string", "unknown":
		name, marked = "utf-16", true
	case "bigendianunicode":
		name, marked = "utf-16be", true
	case "utf8":
		marked = !s.Core
	case "utf8bom":
		marked = true
	case "ascii":
		name = "ascii"
	case "default", "oem":
		name = "windows-1252"
	}
	if marked && begins {
		content = mark + content
	}

	if e := stream.EncodingNamed(name); e != nil {
		return string(e.Encode(content))
	}
	return content
}

// FileText returns what a file holds as text, by its mark; without one UTF-8.
func FileText(data []byte) string {
	if text, marked := MarkedText(data); marked {
		return text
	}
	return string(data)
}

// MarkedText returns what a file with a mark holds as text.
func MarkedText(data []byte) (text string, marked bool) {
	for mark, name := range map[string]string{"\xff\xfe": "utf-16", "\xfe\xff": "utf-16be", "\xef\xbb\xbf": "utf-8"} {
		if rest, marked := bytes.CutPrefix(data, []byte(mark)); marked {
			return stream.EncodingNamed(name).Decode(rest), true
		}
	}
	return "", false
}
