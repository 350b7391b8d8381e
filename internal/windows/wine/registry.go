package wine

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/internal/windows/regf"
)

// Key is one registry key of a hive and what to change in it.
type Key struct {
	// Path is below the root of the hive, with single back slashes, for example `Software\Wine`.
	Path string
	// Values to set; the others of the key stay.
	Values []Value
	// Drop names values to remove.
	Drop []string
	// Delete removes the key with its values and everything below it; all else is then ignored.
	Delete bool
	// Clear removes the values that the key has before Values are set. Its subkeys stay.
	Clear bool
	// Link is the whole name of the key to which this symbolic link leads, "" if it is no link.
	Link string
}

// Value is one registry value in the text form of Wine's .reg files.
type Value struct {
	Name string
	text string
}

// SZ returns a string value.
func SZ(name, data string) Value { return Value{name, `"` + escape(data, true) + `"`} }

// ExpandSZ returns a string value in which %variables% are replaced on read.
func ExpandSZ(name, data string) Value { return Value{name, `str(2):"` + escape(data, true) + `"`} }

// MultiSZ returns a list of strings.
func MultiSZ(name string, data ...string) Value {
	var list strings.Builder
	for _, s := range data {
		list.WriteString(escape(s, true) + `\0`)
	}
	return Value{name, `str(7):"` + list.String() + `"`}
}

// DWORD returns a 32-bit value.
func DWORD(name string, data uint32) Value { return Value{name, fmt.Sprintf("dword:%08x", data)} }

// escape writes text as Wine does: back slash always, the double quote within quotes, and what is not printable ASCII
// as \x<four hex digits>. https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/unicode.c (dump_strW)
func escape(s string, quotes bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\', r == '"' && quotes, !quotes && (r == '[' || r == ']'):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || (r > '~' && r < 0x10000):
			fmt.Fprintf(&b, `\x%04x`, r)
		case r >= 0x10000:
			fmt.Fprintf(&b, `\x%04x\x%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}

	return b.String()
}

// linkText returns a REG_LINK as the bytes of its UTF-16, which ends without a zero character.
func linkText(target string) string {
	var b strings.Builder
	b.WriteString("hex(6):")
	for i, unit := range utf16.Encode([]rune(target)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%02x,%02x", unit&0xff, unit>>8)
	}
	return b.String()
}

// hive is a .reg file taken apart into the lines before the first key and the keys.
type hive struct {
	head []string
	keys []*hiveKey
	// tree has every path of a key and of those above it, in lower case; "" is the root.
	tree map[string]*branch
}

// branch is a place in a hive. Wine writes no key that has subkeys and nothing else, so key may be nil.
type branch struct {
	key      *hiveKey
	children []string // whole paths
}

// hiveKey holds the lines of one key: its header, then attributes (#time, #class, #link) and values, with the lines
// that continue a value joined to it by newlines. A line that was taken away is "".
type hiveKey struct {
	path   string // unescaped, lower case
	header string
	lines  []string
	values map[string]int // the places of values in lines by valueKey; nil until one is looked for
	gone   bool
}

// EditRegistry applies changes to the text of a .reg file as Wine's server writes it (version 2) and returns the new
// text.
func EditRegistry(text string, changes []Key) (string, error) {
	h, err := parseHive(text)
	if err != nil {
		return "", err
	}
	for _, c := range changes {
		h.apply(c)
	}
	return h.String(), nil
}

// What a registry has at most; Wine's own has some 20,000 keys. A container's programs write theirs as they like.
const (
	deepestKey = 512 // Windows' own bound
	mostKeys   = 300_000
	mostLines  = 3_000_000
)

func parseHive(text string) (*hive, error) {
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(lines[0], "WINE REGISTRY Version 2") {
		return nil, fmt.Errorf("parse registry: first line is %.40q, want WINE REGISTRY Version 2", lines[0])
	}

	h := &hive{tree: map[string]*branch{"": {}}}
	var key *hiveKey
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "["):
			end := strings.LastIndex(line, "]")
			if end < 0 {
				return nil, fmt.Errorf("parse registry: line %d: key without ]", i+1)
			}
			key = &hiveKey{path: strings.ToLower(unescape(line[1:end])), header: line}
			if strings.Count(key.path, `\`) > deepestKey {
				return nil, fmt.Errorf("parse registry: line %d: %w: a key below %d others", i+1, regf.ErrTooLarge, deepestKey)
			}

			h.add(key)
			if len(h.tree) > mostKeys || i > mostLines {
				return nil, fmt.Errorf("parse registry: %w: more than %d keys or %d lines", regf.ErrTooLarge, mostKeys, mostLines)
			}

		case key == nil:
			h.head = append(h.head, line)
		case line != "":
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "[") {
				i++
				line += "\n" + lines[i]
			}
			key.lines = append(key.lines, line)
		}
	}

	return h, nil
}

// unescape reads a text as Wine's server writes it.
func unescape(s string) string { return string(utf16.Decode(textUnits(s))) }

// add adds a key at the end.
func (h *hive) add(key *hiveKey) {
	h.keys = append(h.keys, key)
	if at := h.place(key.path); at.key == nil {
		at.key = key
	}
}

// place returns the branch of a path. A new one grows on the branch above it.
func (h *hive) place(path string) *branch {
	if at, ok := h.tree[path]; ok {
		return at
	}
	at := &branch{}
	h.tree[path] = at
	above := h.place(path[:max(0, strings.LastIndexByte(path, '\\'))])
	above.children = append(above.children, path)
	return at
}

// remove removes a key and those below it; the root stays.
func (h *hive) remove(path string) {
	at, ok := h.tree[path]
	if !ok || path == "" {
		return
	}
	if at.key != nil {
		at.key.gone = true
	}
	for _, child := range at.children {
		h.remove(child)
	}
	delete(h.tree, path)
}

func (h *hive) apply(c Key) {
	path := strings.ToLower(c.Path)
	if c.Delete {
		h.remove(path)
		return
	}
	at := h.place(path)
	if at.key == nil {
		h.add(&hiveKey{path: path, header: "[" + escape(c.Path, false) + "] 0"})
	}

	if c.Clear {
		at.key.lines, at.key.values = nil, nil
	}
	if c.Link != "" {
		at.key.lines, at.key.values = []string{"#link", `"SymbolicLinkValue"=` + linkText(c.Link)}, nil
	}
	for _, name := range c.Drop {
		at.key.drop(name)
	}

	for _, v := range c.Values {
		at.key.set(v)
	}
}

// valuePrefix returns the beginning of a value's line: @= for the default value, which has no name.
func valuePrefix(name string) string {
	if name == "" {
		return "@="
	}
	return `"` + escape(name, true) + `"=`
}

// valueKey returns the beginning of a value's line in lower case, up to the equals sign; "" if the line is no value's.
func valueKey(line string) string {
	if strings.HasPrefix(line, "@=") {
		return "@="
	}
	if !strings.HasPrefix(line, `"`) {
		return ""
	}

	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return strings.ToLower(line[:i+1]) + "="
		}
	}

	return ""
}

// find returns the place of a value's line, or -1.
func (k *hiveKey) find(name string) int {
	if k.values == nil {
		k.values = map[string]int{}
		for i, line := range k.lines {
			if key := valueKey(line); key != "" {
				k.values[key] = i
			}
		}
	}
	if i, ok := k.values[strings.ToLower(valuePrefix(name))]; ok {
		return i
	}

	return -1
}

func (k *hiveKey) set(v Value) {
	line := valuePrefix(v.Name) + v.text
	if i := k.find(v.Name); i >= 0 {
		k.lines[i] = line
		return
	}
	k.values[strings.ToLower(valuePrefix(v.Name))] = len(k.lines)
	k.lines = append(k.lines, line)
}

func (k *hiveKey) drop(name string) {
	if i := k.find(name); i >= 0 {
		k.lines[i] = ""
		delete(k.values, strings.ToLower(valuePrefix(name)))
	}
}

// String writes the hive as Wine's server does: an empty line before each key.
func (h *hive) String() string {
	var b strings.Builder
	for _, line := range h.head {
		b.WriteString(line)
		b.WriteByte('\n')
	}

	text := strings.TrimRight(b.String(), "\n")
	b.Reset()
	b.WriteString(text)
	b.WriteByte('\n')
	for _, k := range h.keys {
		if k.gone {
			continue
		}

		b.WriteByte('\n')
		b.WriteString(k.header)
		b.WriteByte('\n')
		for _, line := range k.lines {
			if line != "" {
				b.WriteString(line)
				b.WriteByte('\n')
			}
		}
	}

	return b.String()
}
