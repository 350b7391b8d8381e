package directory

import (
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf16"
)

// current returns the current password of an MSDS-MANAGEDPASSWORD_BLOB: what has the offset at byte 8, in UTF-16 and
// ended by zero (https://learn.microsoft.com/openspecs/windows_protocols/ms-adts/a9019740-3d73-46ef-a9ae-3ea8eb86ac2e).
// It is random, so that not all of it is characters: what is none becomes U+FFFD, as it does where Windows makes keys
// of it.
func current(blob []byte) (string, error) {
	const version, header = 1, 16
	if len(blob) < header || binary.LittleEndian.Uint16(blob) != version ||
		int64(binary.LittleEndian.Uint32(blob[4:])) > int64(len(blob)) {
		return "", errors.New("the account's password has a form that is not known")
	}
	at := int(binary.LittleEndian.Uint16(blob[8:]))
	if at < header || at > len(blob) {
		return "", errors.New("the account has no password")
	}

	var units []uint16
	for rest := blob[at:]; len(rest) >= 2; rest = rest[2:] {
		units = append(units, binary.LittleEndian.Uint16(rest))
	}

	end := slices.Index(units, 0)
	if end <= 0 {
		return "", errors.New("the account has no password")
	}
	return string(utf16.Decode(units[:end])), nil
}
