package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// takeMemory takes so many bytes of memory, writes to each page, and never gives them back.
func takeMemory(bytes int) error {
	at, err := windows.VirtualAlloc(0, uintptr(bytes), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return err
	}
	all := unsafe.Slice((*byte)(unsafe.Add(nil, at)), bytes)
	for i := 0; i < len(all); i += os.Getpagesize() {
		all[i] = 1
	}
	return nil
}
