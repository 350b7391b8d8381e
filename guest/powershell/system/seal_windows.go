package system

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

func protect(plain []byte) ([]byte, error) {
	return crypt("seal with CryptProtectData", plain, func(in, out *windows.DataBlob) error {
		return windows.CryptProtectData(in, nil, nil, 0, nil, windows.CRYPTPROTECT_UI_FORBIDDEN, out)
	})
}

func unprotect(sealed []byte) ([]byte, error) {
	return crypt("open with CryptUnprotectData", sealed, func(in, out *windows.DataBlob) error {
		return windows.CryptUnprotectData(in, nil, nil, 0, nil, windows.CRYPTPROTECT_UI_FORBIDDEN, out)
	})
}

// crypt calls Windows with some bytes, and copies what it returns.
func crypt(what string, data []byte, call func(in, out *windows.DataBlob) error) ([]byte, error) {
	room := append(slices.Clone(data), 0) // an empty text has an address too
	in, out := windows.DataBlob{Size: uint32(len(data)), Data: &room[0]}, windows.DataBlob{}
	if err := call(&in, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	got := slices.Clone(unsafe.Slice(out.Data, out.Size))
	_, err := windows.LocalFree(windows.Handle(unsafe.Pointer(out.Data)))
	return got, err
}
