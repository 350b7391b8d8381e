package smb

import (
	"errors"
	"reflect"
	"unsafe"

	smb2 "github.com/cloudsoda/go-smb2"
)

// What a session and a server are, in messages of SMB
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/0324190f-a31b-4666-9fa9-5c624273a694 and
// https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/63abf97c-0d09-47e2-88d6-6bfa552949a5).
const (
	sessionFlagEncryptData = 0x0004
	capEncryption          = 0x00000040
	dialect311             = 0x0311
)

// encrypt has all further requests of a session encrypted, also where the server does not demand it, as a client of
// Windows does whose mapping demands privacy (MS-SMB2 3.2.4.1.8, Session.EncryptData). ErrNotEncrypted says that the
// server cannot: it speaks SMB 2, or has no cipher in common, or the session has no key.
//
// The library does this only where the server's answer has the flag, and has no option for it, so that the flag is set
// in the session's own field. A library whose fields are others gives an error.
func encrypt(session *smb2.Session) error {
	s := field(reflect.ValueOf(session), "s")
	flags, encrypter := field(s, "sessionFlags"), field(s, "encrypter")
	dialect, capabilities := field(s, "dialect"), field(s, "capabilities")
	if !flags.IsValid() || flags.Type() != reflect.TypeFor[uint16]() || !encrypter.IsValid() ||
		encrypter.Kind() != reflect.Interface || !dialect.IsValid() || !dialect.CanUint() || !capabilities.IsValid() ||
		!capabilities.CanUint() {
		return errors.New("this version of the SMB library cannot be told to encrypt")
	}

	// Of SMB 3.0 the library makes keys for each server; with SMB 3.1.1 it has none without a cipher of the server's.
	if encrypter.IsNil() || (dialect.Uint() != dialect311 && capabilities.Uint()&capEncryption == 0) {
		return ErrNotEncrypted
	}
	*(*uint16)(unsafe.Pointer(flags.UnsafeAddr())) |= sessionFlagEncryptData
	return nil
}

// field returns a field of what a pointer leads to, or nothing.
func field(of reflect.Value, name string) reflect.Value {
	if !of.IsValid() || of.Kind() != reflect.Pointer || of.IsNil() || of.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return of.Elem().FieldByName(name)
}
