package system

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"unicode/utf16"

	"mullion.dev/mullion/guest/powershell/words"
)

// Seals seals the text of passwords for files, as Windows does for who logs on (DPAPI), and opens it again: the bytes
// of UTF-16, sealed, in hexadecimal digits
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.security/convertfrom-securestring).
type Seals struct {
	// Protect seals bytes, Unprotect opens them.
	Protect, Unprotect func([]byte) ([]byte, error)
}

// Seal seals a text.
func (s Seals) Seal(text string) (string, error) {
	var plain []byte
	for _, u := range utf16.Encode([]rune(text)) {
		plain = binary.LittleEndian.AppendUint16(plain, u)
	}
	sealed, err := s.Protect(plain)
	return hex.EncodeToString(sealed), err
}

// Open opens a text that was sealed.
func (s Seals) Open(sealed string) (string, error) {
	data, err := hex.DecodeString(sealed)
	if err != nil || len(data) == 0 {
		return "", words.Errorf("Input string was not in a correct format.")
	}
	plain, err := s.Unprotect(data)
	if err != nil {
		return "", err
	}
	if len(plain)%2 != 0 {
		return "", errors.New("the sealed text is no text of UTF-16")
	}
	units := make([]uint16, len(plain)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(plain[2*i:])
	}
	return string(utf16.Decode(units)), nil
}
