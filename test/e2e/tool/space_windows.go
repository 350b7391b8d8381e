package main

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// space FOLDER: prints the size of the volume that the folder is on and what is free, in bytes, as GetDiskFreeSpaceEx
// says it.
func space(args []string) error {
	folder, err := windows.UTF16PtrFromString(args[0])
	if err != nil {
		return err
	}
	var size, free uint64
	err = windows.GetDiskFreeSpaceEx(folder, &free, &size, nil)
	fmt.Println(size, free)
	return err
}
