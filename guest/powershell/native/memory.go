package native

import (
	"bytes"
	"runtime/debug"
	"unsafe"

	"mullion.dev/mullion/guest/powershell/object"
)

// address returns where a room lies. Go moves nothing that is not on a stack, and what is kept is on none.
func address(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(&b[0]))
}

// roomAt returns the memory at an address. Whoever gives it says that it is there, as in C.
func roomAt(at uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size)
}

// touch runs what reads or writes memory at an address that a script has given. What is not there is the exception that
// .NET has for it.
func touch(at uintptr, do func()) (err error) {
	if at == 0 {
		return object.Raise("System.ArgumentNullException", "Value cannot be null.\nParameter name: ptr")
	}

	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = object.Raise("System.AccessViolationException", "Attempted to read or write protected memory. This is "+
				"often an indication that other memory is corrupt.")
		}
	}()
	do()
	return nil
}

// copyOf returns a copy of the memory at an address.
func copyOf(at uintptr, size int) (b []byte, err error) {
	err = touch(at, func() { b = bytes.Clone(roomAt(at, size)) })
	return b, err
}

// textAt reads a text at an address until its NUL, of most characters.
func textAt(at uintptr, wide bool, most int) (string, error) {
	unit := 1
	if wide {
		unit = 2
	}

	var all []byte
	err := touch(at, func() {
		for range most {
			one := roomAt(at, unit)
			if bytes.Equal(one, make([]byte, unit)) {
				return
			}
			all = append(all, one...)
			at += uintptr(unit)
		}
	})
	return decoded(all, wide), err
}
