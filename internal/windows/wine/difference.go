package wine

import (
	"bytes"
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"mullion.dev/mullion/internal/windows/regf"
)

// Registry are the files of a container's registry by their names (MachineHive and the others), as Wine writes them.
type Registry map[string]string

// RegistryChanges are what a container has changed in its registry.
type RegistryChanges struct {
	// Before is the registry with which the container began, After that with which it ended, System that of Windows
	// itself.
	Before, After, System Registry
	// User is the Windows user of the container's programs.
	User string
}

// Hives returns the files of a layer's folder Hives that make the changes, by their names.
func (c RegistryChanges) Hives() (map[string][]byte, error) {
	hives := map[string][]byte{}
	for _, h := range LayerHives() {
		hive, err := h.Write(c.Before[h.Hive], c.After[h.Hive])
		if err != nil {
			return nil, err
		}
		if hive != nil {
			hives[h.Name] = hive
		}
	}
	return hives, nil
}

// UserSettings returns the file of the user's own settings, and its path below C:, with slashes; nil: the container has
// not changed them. It hides the one in a layer below, so it has all that is not as Windows has it.
func (c RegistryChanges) UserSettings() (name string, hive []byte, err error) {
	after := c.After[UserHive]
	if changed, err := writeUser(c.Before[UserHive], after); err != nil || changed == nil {
		return "", nil, err
	}
	hive, err = writeUser(c.System[UserHive], after)
	return path.Join("users", c.User, "NTUSER.DAT"), hive, err
}

// Write returns the hive of an image's layer that makes of a file of the registry what it has become: nil if nothing
// that an image may change has changed. It is what Changes reads.
func (h LayerHive) Write(before, after string) ([]byte, error) {
	f := userFilter("")
	if h.Hive != DefaultHive {
		f = hiveFilter{
			root: h.Root + `\`,
			key:  ofImage,
			drop: ofMachine,
		}
	}

	keys, err := difference(before, after, f)
	if len(keys) == 0 || err != nil {
		return nil, err
	}
	return regf.Build(keys...), nil
}

// writeUser returns a user's own hive (NTUSER.DAT of the profile) with what has become of HKEY_CURRENT_USER since it
// was Windows' own. It is what UserChanges reads, and has no keys that were deleted: it lies over no other.
func writeUser(before, after string) ([]byte, error) {
	keys, err := difference(before, after, userFilter(""))
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k regf.Key) bool { return k.Layer == regf.Tombstone })
	for i := range keys {
		keys[i].Values = slices.DeleteFunc(keys[i].Values, func(v regf.Value) bool { return v.Tombstone })
	}

	if len(keys) == 0 {
		return nil, nil
	}

	return regf.Build(keys...), nil
}

// difference returns the keys that differ, with what makes the one of the other. Their paths are as the hive has them.
func difference(before, after string, f hiveFilter) ([]regf.Key, error) {
	old, err := parseHive(before)
	if err != nil {
		return nil, err
	}
	fresh, err := parseHive(after)
	if err != nil {
		return nil, err
	}

	var keys []regf.Key
	for _, k := range fresh.keys {
		path, ok := f.within(k)
		if !ok {
			continue
		}
		values := f.changed(old.find(k.path), k)
		if len(values) > 0 || old.tree[k.path] == nil {
			keys = append(keys, regf.Key{Path: path, Values: values})
		}
	}

	return append(keys, f.deleted(old, fresh)...), nil
}

// find returns a key by its path in lower case; nil: there is none.
func (h *hive) find(path string) *hiveKey {
	if at := h.tree[path]; at != nil {
		return at.key
	}
	return nil
}

// longestKey is the length of a key's name on Windows, in characters
// (https://learn.microsoft.com/windows/win32/sysinfo/registry-element-size-limits).
const longestKey = 255

// within returns a key's path in the hive; false: it is none of the hive's, or not an image's to change, or a link.
func (f hiveFilter) within(k *hiveKey) (string, bool) {
	end := strings.LastIndex(k.header, "]")
	whole := unescape(k.header[1:end])
	if !f.key(whole) || slices.Contains(k.lines, "#link") {
		return "", false
	}
	if len(whole) <= len(f.root) || !strings.EqualFold(whole[:len(f.root)], f.root) {
		return "", false
	}

	path := whole[len(f.root):]
	for name := range strings.SplitSeq(path, `\`) {
		units := len(utf16.Encode([]rune(name)))
		if units == 0 || units > longestKey || strings.Contains(name, "\x00") {
			return "", false
		}
	}

	// The files of Windows have sets of settings, of which the running one is shown as CurrentControlSet.
	const current, first = "CurrentControlSet", "ControlSet001"
	if f.root == `System\` && within(path, current) {
		path = first + path[len(current):]
	}

	return path, true
}

// changed returns the values of a key that differ from those that it had; old is nil for a new key.
func (f hiveFilter) changed(old, k *hiveKey) []regf.Value {
	had, has := old.parsed(), k.parsed()
	var values []regf.Value
	for _, name := range slices.Sorted(maps.Keys(has)) {
		v, before := has[name], had[name]
		same := before != nil && v.Type == before.Type && bytes.Equal(v.Data, before.Data)
		if !same && !f.drop(k.path, v.Name) {
			values = append(values, *v)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(had)) {
		if has[name] == nil && !f.drop(k.path, had[name].Name) {
			values = append(values, regf.Value{
				Name:      had[name].Name,
				Type:      regSZ,
				Tombstone: true,
			})
		}
	}

	return values
}

// parsed returns a key's values by their names in lower case. Those that are not understood are left out.
func (k *hiveKey) parsed() map[string]*regf.Value {
	values := map[string]*regf.Value{}
	if k == nil {
		return values
	}

	for _, line := range k.lines {
		name, data, ok := splitValue(line)
		if !ok {
			continue
		}
		if v, ok := parseValue(name, data); ok {
			values[strings.ToLower(name)] = &v
		}
	}

	return values
}

// deleted returns the keys that are gone, without those below them.
func (f hiveFilter) deleted(old, fresh *hive) []regf.Key {
	var keys []regf.Key
	gone := map[string]bool{}
	for _, k := range old.keys {
		path, ok := f.within(k)
		if !ok || fresh.tree[k.path] != nil {
			continue
		}
		if !below(gone, path) {
			keys = append(keys, regf.Key{Path: path, Layer: regf.Tombstone})
			gone[strings.ToLower(path)] = true
		}
	}

	return keys
}

// below reports whether a key lies below one of those that are gone.
func below(gone map[string]bool, path string) bool {
	path = strings.ToLower(path)
	for i, r := range path {
		if r == '\\' && gone[path[:i]] {
			return true
		}
	}
	return false
}

// splitValue takes a value's line apart; false: it has none.
func splitValue(line string) (name, data string, ok bool) {
	if data, ok := strings.CutPrefix(line, "@="); ok {
		return "", data, true
	}
	if !strings.HasPrefix(line, `"`) {
		return "", "", false
	}

	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			data, ok := strings.CutPrefix(line[i+1:], "=")
			return unescape(line[1:i]), data, ok
		}
	}

	return "", "", false
}

// parseValue reads the data of a value as Wine's server writes it; false: it is not understood.
// https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/registry.c (parse_values)
func parseValue(name, data string) (regf.Value, bool) {
	kind, rest, _ := strings.Cut(data, ":")
	switch {
	case strings.HasPrefix(data, `"`):
		return textValue(name, regSZ, data)
	case kind == "dword":
		number, err := strconv.ParseUint(rest, 16, 32)
		return regf.Value{
			Name: name,
			Type: regDWORD,
			Data: binary.LittleEndian.AppendUint32(nil, uint32(number)),
		}, err == nil

	case kind == "hex":
		return bytesValue(name, regBinary, rest)
	}

	form, number, ok := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
	of, err := strconv.ParseUint(number, 16, 32)
	if !ok || err != nil {
		return regf.Value{}, false
	}

	switch form {
	case "str":
		return textValue(name, uint32(of), rest)
	case "hex":
		return bytesValue(name, uint32(of), rest)
	}

	return regf.Value{}, false
}

// textValue reads a text in quotes, which ends with a zero that is not written.
func textValue(name string, kind uint32, data string) (regf.Value, bool) {
	if len(data) < 2 || !strings.HasPrefix(data, `"`) || !strings.HasSuffix(data, `"`) {
		return regf.Value{}, false
	}
	var raw []byte
	for _, unit := range append(textUnits(data[1:len(data)-1]), 0) {
		raw = binary.LittleEndian.AppendUint16(raw, unit)
	}

	return regf.Value{
		Name: name,
		Type: kind,
		Data: raw,
	}, true
}

// bytesValue reads numbers of two digits with commas between, on as many lines as it takes.
func bytesValue(name string, kind uint32, data string) (regf.Value, bool) {
	if kind == regLink {
		return regf.Value{}, false
	}

	raw := []byte{}
	for word := range strings.FieldsFuncSeq(data, func(r rune) bool { return strings.ContainsRune(",\\ \n\r\t", r) }) {
		number, err := strconv.ParseUint(word, 16, 8)
		if err != nil {
			return regf.Value{}, false
		}
		raw = append(raw, byte(number))
	}

	return regf.Value{
		Name: name,
		Type: kind,
		Data: raw,
	}, true
}

// textUnits returns the characters of a text as Wine's server writes it, in UTF-16
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/unicode.c, parse_strW).
func textUnits(text string) []uint16 {
	var units []uint16
	for len(text) > 0 {
		if text[0] != '\\' || len(text) == 1 {
			r, size := utf8.DecodeRuneInString(text)
			units = utf16.AppendRune(units, r)
			text = text[size:]
			continue
		}

		unit, length := escaped(text[1:])
		units = append(units, unit)
		text = text[1+length:]
	}

	return units
}

// escaped reads what follows a back slash, which is not empty, and returns how long it is.
func escaped(text string) (unit uint16, length int) {
	const names, meanings = "abtnvfre", "\a\b\t\n\v\f\r\x1b"
	if i := strings.IndexByte(names, text[0]); i >= 0 {
		return uint16(meanings[i]), 1
	}

	begin := 0
	base := 8
	most := 3
	digits := "01234567"
	if text[0] == 'x' {
		begin = 1
		base = 16
		most = 4
		digits = "0123456789abcdefABCDEF"
	}

	end := begin
	for end < len(text) && end-begin < most && strings.IndexByte(digits, text[end]) >= 0 {
		end++
	}

	if number, err := strconv.ParseUint(text[begin:end], base, 16); err == nil {
		return uint16(number), end
	}

	return uint16(text[0]), 1
}
