//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeMemory takes so many bytes of memory, writes to each page, and never gives them back.
func takeMemory(bytes int) error {
	all, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := 0; i < len(all); i += os.Getpagesize() {
		all[i] = 1
	}
	return nil
}
