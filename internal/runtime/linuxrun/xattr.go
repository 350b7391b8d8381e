package linuxrun

import (
	"encoding/binary"
	"strings"
)

// xattrRecord begins the records of a layer's file that are its extended attributes.
const xattrRecord = "SCHILY.xattr."

// capabilityName is the attribute of a file's capabilities.
const capabilityName = "security.capability"

// The forms of that attribute: an image's, which in no user namespace but the machine's first gives anything, and one
// that names behind it the root of the user namespace in which it does
// (https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/capability.h, vfs_ns_cap_data).
const (
	imageRevision, imageBytes  = 0x02000000, 20
	ownRevision, ownCapability = 0x03000000, 24
	revisionMask               = 0xff000000
)

// revision returns the form of a value, and whether its size is that form's.
func revision(value string) (uint32, bool) {
	if len(value) < 4 {
		return 0, false
	}
	form := binary.LittleEndian.Uint32([]byte(value)) & revisionMask
	isImage := form == imageRevision && len(value) == imageBytes
	return form, isImage || (form == ownRevision && len(value) == ownCapability)
}

// withRevision returns the capabilities of a value in another form, without a root.
func withRevision(value string, form uint32) []byte {
	own := []byte(value)[:imageBytes:imageBytes]
	binary.LittleEndian.PutUint32(own, binary.LittleEndian.Uint32(own)&^uint32(revisionMask)|form)
	return own
}

// containerCapability returns the capabilities of an image's file as a file on the machine has them, where they are
// those of the container; "": it has none.
func containerCapability(value string) string {
	if _, ok := revision(value); !ok {
		return ""
	}
	return string(binary.LittleEndian.AppendUint32(withRevision(value, ownRevision), Owner))
}

// imageCapability returns the capabilities of a file on the machine as an image has them; "": it has none that are the
// container's.
func imageCapability(value string) string {
	form, ok := revision(value)
	if !ok || form != ownRevision || binary.LittleEndian.Uint32([]byte(value)[imageBytes:]) != Owner {
		return ""
	}
	return string(withRevision(value, imageRevision))
}

// keepXattrs leaves a layer's file the attributes that give nothing beyond the container: its capabilities there, and
// those of programs, but for what overlayfs believes.
func keepXattrs(records map[string]string) {
	for record, value := range records {
		name, ok := strings.CutPrefix(record, xattrRecord)
		if !ok {
			continue
		}
		if name == capabilityName {
			value = containerCapability(value)
			records[record] = value
		}

		user := strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "user.overlay.")
		if !user && (name != capabilityName || value == "") {
			delete(records, record)
		}
	}
}
