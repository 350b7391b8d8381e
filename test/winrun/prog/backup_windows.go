package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// backup reads a file or a folder by BackupRead, in small pieces, and prints what it has read.
func backup(args []string) error {
	name, err := windows.UTF16PtrFromString(args[0])
	if err != nil {
		return err
	}

	file, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return &os.PathError{
			Op:   "open",
			Path: args[0],
			Err:  err,
		}
	}

	defer func() { _ = windows.CloseHandle(file) }()
	read := windows.NewLazySystemDLL("kernel32.dll").NewProc("BackupRead")
	var (
		all     []byte
		piece   [7]byte
		got     uint32
		context uintptr
	)

	for {
		ok, _, err := read.Call(uintptr(file), uintptr(unsafe.Pointer(&piece)), uintptr(len(piece)),
			uintptr(unsafe.Pointer(&got)), 0, 0, uintptr(unsafe.Pointer(&context)))
		if ok == 0 {
			return fmt.Errorf("BackupRead: %w", err)
		}
		if got == 0 {
			break
		}
		all = append(all, piece[:got]...)
	}

	// As go-winio ends it: without a buffer, and without a place for the count.
	ok, _, err := read.Call(uintptr(file), 0, 0, 0, 1, 0, uintptr(unsafe.Pointer(&context)))
	if ok == 0 || context != 0 {
		return fmt.Errorf("BackupRead, to end: %w", err)
	}
	fmt.Println(hex.EncodeToString(all))
	return nil
}
