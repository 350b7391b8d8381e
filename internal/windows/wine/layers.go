package wine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/windows/regf"
)

// Types of values (https://learn.microsoft.com/windows/win32/sysinfo/registry-value-types).
const (
	regSZ       = 1
	regExpandSZ = 2
	regBinary   = 3
	regDWORD    = 4
	regLink     = 6
)

// Data returns a value of any type. What is a whole text, or a number, is written as such, all else as bytes
// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/server/registry.c, dump_value).
func Data(name string, kind uint32, data []byte) Value {
	switch kind {
	case regSZ, regExpandSZ:
		if text, ok := wholeText(data); ok {
			if kind == regSZ {
				return SZ(name, text)
			}
			return ExpandSZ(name, text)
		}

	case regDWORD:
		if len(data) == 4 {
			return DWORD(name, binary.LittleEndian.Uint32(data))
		}
	}

	var b strings.Builder
	b.WriteString("hex")
	if kind != regBinary {
		fmt.Fprintf(&b, "(%x)", kind)
	}

	b.WriteByte(':')
	for i, c := range data {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%02x", c)
	}

	return Value{name, b.String()}
}

// wholeText returns the text of a value, if it is UTF-16 with one end, after its last character.
func wholeText(data []byte) (string, bool) {
	if len(data) < 2 || len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[2*i:])
	}

	if slices.Index(units, 0) != len(units)-1 {
		return "", false
	}
	runes := utf16.Decode(units[:len(units)-1])
	return string(runes), !slices.Contains(runes, '\ufffd')
}

// Files of a prefix with its registry.
const (
	// MachineHive has HKEY_LOCAL_MACHINE.
	MachineHive = "system.reg"
	// DefaultHive has HKEY_USERS\.DEFAULT, the settings of LocalSystem.
	DefaultHive = "userdef.reg"
	// UserHive has HKEY_CURRENT_USER.
	UserHive = "user.reg"
)

// LayerHive is a file in the folder Hives of an image's layer whose changes a container gets.
type LayerHive struct {
	// Name is that of the file.
	Name string
	// Hive is the file of the prefix that it changes, and Root the key of it, "" for all of it.
	Hive, Root string
}

// LayerHives are these files
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/internal/wclayer/cim/common.go, hives). Accounts (Sam_Delta) are
// package sam's, and policies (Security_Delta) are nobody's.
func LayerHives() []LayerHive {
	return []LayerHive{
		{"DefaultUser_Delta", DefaultHive, ""},
		{"Software_Delta", MachineHive, "Software"},
		{"System_Delta", MachineHive, "System"},
	}
}

// Changes returns the changes that a hive of an image's layer makes to h.Hive, in the order in which they are to be
// made. Of what Windows itself wrote into the layer while the image was built, what describes that machine and its
// Windows is left out: Mullion's describes this one. What they take is taken from room, which is MaxChanges for a whole
// image; if there is no more, the error is regf.ErrTooLarge.
func (h LayerHive) Changes(hive []byte, room *int) ([]Key, error) {
	if h.Hive == DefaultHive {
		return hiveChanges(hive, room, userFilter(""))
	}
	return hiveChanges(hive, room, hiveFilter{
		root: h.Root + `\`,
		key:  ofImage,
		drop: ofMachine,
	})
}

// UserChanges returns what a user's own hive (NTUSER.DAT of the profile) makes of HKEY_CURRENT_USER. room is that of
// LayerHive.Changes.
func UserChanges(hive []byte, user string, room *int) ([]Key, error) {
	f := userFilter(user)
	f.whole = true
	return hiveChanges(hive, room, f)
}

// hiveFilter says what of a hive is taken.
type hiveFilter struct {
	// root is put before each path. whole: the hive lies over no other.
	root  string
	whole bool
	// key takes a key; drop leaves out a value of it.
	key  func(path string) bool
	drop func(path, name string) bool
	// data changes a value; nil leaves all as they are.
	data func(path string, v regf.Value) regf.Value
}

// userFilter takes a user's settings, without those of Wine and those that end with the session. Paths of the user's
// profile in the environment are literal, because Wine puts the environment together before it knows %USERPROFILE%.
func userFilter(user string) hiveFilter {
	f := hiveFilter{
		key: func(path string) bool {
			return !within(path, `Software\Wine`) && !within(path, "Volatile Environment") && !within(path, `Software\Classes`)
		},
		drop: func(string, string) bool { return false },
	}

	if user != "" {
		f.data = func(path string, v regf.Value) regf.Value {
			if text, ok := wholeText(v.Data); ok && v.Type == regExpandSZ && strings.EqualFold(path, "Environment") {
				v.Data = utf16Bytes(userProfile.ReplaceAllLiteralString(text, `C:\users\`+user))
			}
			return v
		}
	}

	return f
}

var userProfile = lazyregexp.New(`(?i)%USERPROFILE%`)

// utf16Bytes returns a text as values of type REG_SZ have it, with its end.
func utf16Bytes(text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return append(b, 0, 0)
}

func hiveChanges(hive []byte, room *int, f hiveFilter) ([]Key, error) {
	var keys []Key

	err := regf.Walk(hive, func(k regf.Key) error {
		path := f.root + k.Path
		if *room -= keyCost + len(path); *room < 0 {
			return regf.ErrTooLarge
		}
		path = controlSet.ReplaceAllString(path, `System\CurrentControlSet`)
		if k.Path == "" || !f.key(path) {
			return nil
		}

		key := Key{Path: path}
		if f.whole {
			k.Layer = regf.Merge
		}

		switch k.Layer {
		case regf.Tombstone:
			key.Delete = true
		case regf.ReplaceTree:
			keys = append(keys, Key{Path: key.Path, Delete: true})
		case regf.Replace:
			key.Clear = true
		}

		for _, v := range k.Values {
			switch {
			case f.drop(path, v.Name) || v.Type == regLink:
			case v.Tombstone:
				key.Drop = append(key.Drop, v.Name)
			default:
				if f.data != nil {
					v = f.data(path, v)
				}
				key.Values = append(key.Values, Data(v.Name, v.Type, v.Data))
				*room -= keyCost + len(v.Name) + len(key.Values[len(key.Values)-1].text)
			}
		}

		// A key without anything may only lead to others, or it may be meant.
		keys = append(keys, key)
		return nil
	})

	return keys, err
}

// MaxChanges is how much the registry changes of all layers of an image may take, in bytes of their text.
const MaxChanges = 64 << 20

// keyCost is what a key or value takes beside its text, in bytes.
const keyCost = 64

// controlSet is a set of the machine's settings. A running Windows shows the one that it uses as CurrentControlSet, and
// Wine has that name alone.
var controlSet = lazyregexp.New(`(?i)^System\\ControlSet00[0-9]`)

const environmentKey = `System\CurrentControlSet\Control\Session Manager\Environment`

// ofImage reports whether a key of HKEY_LOCAL_MACHINE is an image's to change. Of System that is the environment, and
// services, of which ApplyLayers takes the image's own.
func ofImage(path string) bool {
	if within(path, "System") {
		return within(path, environmentKey) ||
			(len(path) > len(servicesKey) && within(path, strings.TrimSuffix(servicesKey, `\`)))
	}

	for _, own := range []string{
		`Software\Wine`, currentVersion + `\ProfileList`, profileLink, currentVersion + `\AeDebug`,
		`Software\Microsoft\Windows\CurrentVersion\Component Based Servicing`,
		`Software\Microsoft\Windows\CurrentVersion\SideBySide`, `Software\Microsoft\Windows\CurrentVersion\WindowsUpdate`,
		// What machineKeys leaves out to save memory.
		`Software\Classes\Interface`, `Software\Classes\Typelib`, `Software\Classes\MediaFoundation`,
		`Software\Classes\DirectShow`, `Software\Classes\Wow6432Node`, `Software\Wow6432Node\Classes`,
	} {
		if within(path, own) {
			return false
		}
	}

	return true
}

// tcpipKey has the name of the machine.
const tcpipKey = servicesKey + `Tcpip\Parameters`

// ofMachine reports whether a value describes the Windows or the machine that a layer was made on.
func ofMachine(path, name string) bool {
	if strings.EqualFold(path, currentVersion) {
		return true
	}
	if within(path, tcpipKey) && (strings.EqualFold(name, "Hostname") || strings.EqualFold(name, "NV Hostname")) {
		return true
	}
	return strings.EqualFold(path, environmentKey) &&
		(strings.HasPrefix(strings.ToUpper(name), "PROCESSOR_") || strings.EqualFold(name, "NUMBER_OF_PROCESSORS"))
}

// within reports whether a key is another or lies below it.
func within(path, above string) bool {
	return len(path) >= len(above) && strings.EqualFold(path[:len(above)], above) &&
		(len(path) == len(above) || path[len(above)] == '\\')
}
