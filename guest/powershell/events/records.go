package events

import (
	"encoding/binary"
	"unicode/utf16"
)

// The actions of a FILE_NOTIFY_INFORMATION
// (https://learn.microsoft.com/en-us/windows/win32/api/winnt/ns-winnt-file_notify_information).
const (
	actionAdded    = 1
	actionRemoved  = 2
	actionModified = 3
	actionOldName  = 4
	actionNewName  = 5
)

// records reads the FILE_NOTIFY_INFORMATION records of a buffer: an offset to the next, an action, the length of a name
// in bytes, and the name, in little endian. A new name belongs to the old one before it; without one it is created. It
// stops at what is no such record.
func records(data []byte) []change {
	const header = 12
	var all []change
	old, hasOld := "", false
	for len(data) >= header {
		next := binary.LittleEndian.Uint32(data)
		action := binary.LittleEndian.Uint32(data[4:])
		length := binary.LittleEndian.Uint32(data[8:])
		if uint64(length)+header > uint64(len(data)) {
			break
		}
		units := make([]uint16, length/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(data[header+2*i:])
		}

		name := string(utf16.Decode(units))
		switch action {
		case actionAdded:
			all = append(all, change{kind: created, name: name})
		case actionRemoved:
			all = append(all, change{kind: deleted, name: name})
		case actionModified:
			all = append(all, change{kind: changed, name: name})
		case actionOldName:
			old, hasOld = name, true
		case actionNewName:
			if hasOld {
				all = append(all, change{
					kind: renamed,
					name: name,
					old:  old,
				})
			} else {
				all = append(all, change{kind: created, name: name})
			}
			hasOld = false
		}

		if next < header || uint64(next) >= uint64(len(data)) {
			break
		}
		data = data[next:]
	}

	if hasOld { // it went elsewhere
		all = append(all, change{kind: deleted, name: old})
	}
	return all
}
