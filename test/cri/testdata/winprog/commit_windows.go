package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// commit commits so many MiB in one call and writes to all of it; it says how that went, and waits if it is to
// hold what it has.
func commit(size string, hold bool) {
	mib, _ := strconv.Atoi(size)
	at, err := windows.VirtualAlloc(0, uintptr(mib)<<20, windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		number, _ := err.(syscall.Errno)
		fmt.Printf("refused with error %d\n", uint32(number))
		os.Exit(1)
	}
	memory := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // it is no memory of Go's
	for i := 0; i < mib<<20; i += 4096 {
		*(*byte)(unsafe.Add(memory, i)) = 1
	}
	fmt.Println("committed", mib)
	if hold {
		time.Sleep(time.Hour)
	}
}

// memory says, in MiB, what GlobalMemoryStatusEx has as the limit of what this process may commit, and as what is left.
func memory() {
	info := struct {
		length, load                        uint32
		physical, physicalLeft, limit, left uint64
		virtual, virtualLeft, extended      uint64
	}{}
	info.length = uint32(unsafe.Sizeof(info))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, err := call.Call(uintptr(unsafe.Pointer(&info))); ok == 0 {
		fmt.Println(err)
	}
	fmt.Println("limit", info.limit>>20, "left", info.left>>20)
}
