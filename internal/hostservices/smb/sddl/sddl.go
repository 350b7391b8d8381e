// Package sddl is what github.com/cloudsoda/go-smb2 needs of a package of this name: security descriptors as SMB
// carries them. The module of the same name is under the LGPL and is linked into nothing here; this one is Mullion's.
//
// It owns the form of a descriptor alone, and keeps its bytes. What the descriptor allows to whom, it does not read:
// neither does Mullion, nor go-smb2.
package sddl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// SecurityDescriptor is a SECURITY_DESCRIPTOR in its self-relative form
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/7d4dac05-9cef-4563-a058-f108abecce1d).
type SecurityDescriptor struct{ form []byte }

// Binary returns the descriptor as FromBinary has got it. The bytes are the caller's own.
func (d *SecurityDescriptor) Binary() []byte { return bytes.Clone(d.form) }

const (
	headerSize   = 20
	selfRelative = 0x8000 // SR: the header has offsets, not pointers
)

// FromBinary returns a descriptor of its bytes. It is an error if a part of it does not lie within them, or is of
// another revision than Windows has.
func FromBinary(form []byte) (*SecurityDescriptor, error) {
	if len(form) < headerSize {
		return nil, fmt.Errorf("a security descriptor has %d bytes, not %d and more", len(form), headerSize)
	}
	if form[0] != 1 {
		return nil, fmt.Errorf("a security descriptor of revision %d, not 1", form[0])
	}
	if binary.LittleEndian.Uint16(form[2:])&selfRelative == 0 {
		return nil, errors.New("a security descriptor is not self-relative")
	}

	for _, part := range []struct {
		name  string
		at    int // the place of its offset in the header
		check func([]byte) error
	}{
		{"owner", 4, checkSID},
		{"group", 8, checkSID},
		{"SACL", 12, checkACL},
		{"DACL", 16, checkACL},
	} {
		offset := binary.LittleEndian.Uint32(form[part.at:])
		if offset == 0 {
			continue // the descriptor has none
		}
		if offset < headerSize || uint64(offset) > uint64(len(form)) {
			return nil, fmt.Errorf("the %s of a security descriptor of %d bytes is at byte %d", part.name, len(form), offset)
		}

		if err := part.check(form[offset:]); err != nil {
			return nil, fmt.Errorf("the %s of a security descriptor: %w", part.name, err)
		}
	}

	return &SecurityDescriptor{form: bytes.Clone(form)}, nil
}

// checkSID looks at the SID that bytes begin with
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/f992ad60-0fe4-4b87-9fed-beb478836861).
func checkSID(b []byte) error {
	const head, maxParts = 8, 15
	if len(b) < head {
		return fmt.Errorf("a SID of %d bytes", len(b))
	}
	if b[0] != 1 || b[1] > maxParts {
		return fmt.Errorf("a SID of revision %d with %d subauthorities", b[0], b[1])
	}
	if size := head + 4*int(b[1]); size > len(b) {
		return fmt.Errorf("a SID of %d bytes, of which %d are there", size, len(b))
	}
	return nil
}

// checkACL looks at the ACL that bytes begin with, and at where its entries lie
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/20233ed8-a6c6-4097-aafa-dd545ed24428). Revision 4 is
// that of directory services.
func checkACL(b []byte) error {
	const head, entryHead = 8, 4
	if len(b) < head {
		return fmt.Errorf("an ACL of %d bytes", len(b))
	}
	size, entries := int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint16(b[4:]))
	if b[0] != 2 && b[0] != 4 {
		return fmt.Errorf("an ACL of revision %d, not 2 or 4", b[0])
	}

	if size < head || size > len(b) {
		return fmt.Errorf("an ACL of %d bytes, of which %d are there", size, len(b))
	}

	rest := b[head:size]
	for i := range entries {
		if len(rest) < entryHead {
			return fmt.Errorf("an ACL of %d entries has room for %d", entries, i)
		}
		length := int(binary.LittleEndian.Uint16(rest[2:]))
		if length < entryHead || length > len(rest) {
			return fmt.Errorf("entry %d of an ACL has %d bytes, of which %d are there", i, length, len(rest))
		}
		rest = rest[length:]
	}

	return nil
}
