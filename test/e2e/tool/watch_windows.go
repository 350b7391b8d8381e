package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

// watch FOLDER: a line for each change below it, as Windows tells of it.
func watch(args []string) error {
	name, err := syscall.UTF16PtrFromString(args[0])
	if err != nil {
		return err
	}

	const list, names, lastWrite = 1, 3, 0x10 // FILE_LIST_DIRECTORY, FILE_NOTIFY_CHANGE_…
	const shared = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	dir, err := syscall.CreateFile(
		name, list, shared, nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0,
	)
	if err != nil {
		return err
	}

	fmt.Println("watching")
	buffer := make([]uint32, 1<<12)
	for {
		var n uint32
		to := (*byte)(unsafe.Pointer(&buffer[0]))
		if err := syscall.ReadDirectoryChanges(dir, to, 4<<12, true, names|lastWrite, &n, nil, 0); err != nil {
			return err
		}

		for at := uint32(0); n > 0; { // FILE_NOTIFY_INFORMATION
			one := (*syscall.FileNotifyInformation)(unsafe.Add(unsafe.Pointer(&buffer[0]), at))
			text := unsafe.Slice(&one.FileName, one.FileNameLength/2)
			fmt.Println("change", one.Action, syscall.UTF16ToString(text))
			if at += one.NextEntryOffset; one.NextEntryOffset == 0 {
				break
			}
		}
	}
}
