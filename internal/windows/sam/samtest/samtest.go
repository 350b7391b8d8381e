// Package samtest makes keys of HKLM\SAM for tests, as Windows would.
package samtest

import (
	"encoding/binary"
	"strings"

	"mullion.dev/mullion/internal/windows/regf"
)

// Names is the key of the accounts' names.
const Names = `SAM\Domains\Account\Users\Names`

// User returns the key of an account's name.
func User(name string, id uint32) regf.Key {
	return regf.Key{Path: Names + `\` + name, Values: []regf.Value{{Type: id}}}
}

// Administrators returns the key of the local group with these members.
func Administrators(ids ...uint32) regf.Key {
	const head = 0x34
	name := strings.Repeat("n\x00", 14)
	data := make([]byte, head)
	binary.LittleEndian.PutUint32(data[0x14:], uint32(len(name)))
	binary.LittleEndian.PutUint32(data[0x28:], uint32(len(name)))
	binary.LittleEndian.PutUint32(data[0x30:], uint32(len(ids)))

	data = append(data, name...)
	for _, id := range ids {
		sid := []byte{1, 5, 0, 0, 0, 0, 0, 5}
		for _, part := range []uint32{21, 1, 2, 3, id} {
			sid = binary.LittleEndian.AppendUint32(sid, part)
		}
		data = append(data, sid...)
	}

	binary.LittleEndian.PutUint32(data[0x2c:], uint32(len(data)-head-len(name)))
	return regf.Key{
		Path: `SAM\Domains\Builtin\Aliases\00000220`, Values: []regf.Value{{Name: "C", Type: 3, Data: data}},
	}
}
