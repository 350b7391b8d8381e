package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// affinity says which processors this process and a new child have, as masks, and how many the system has; then again
// whenever the process's own become others. As a child it says so once.
func affinity() {
	kernel := syscall.NewLazyDLL("kernel32.dll")
	masks := func() (process, system uintptr) {
		this, _ := syscall.GetCurrentProcess()
		ok, _, err := kernel.NewProc("GetProcessAffinityMask").Call(uintptr(this), uintptr(unsafe.Pointer(&process)),
			uintptr(unsafe.Pointer(&system)))
		if ok == 0 {
			fmt.Println("GetProcessAffinityMask:", err)
		}
		return process, system
	}
	if len(os.Args) > 2 {
		process, _ := masks()
		fmt.Printf("%b", process)
		return
	}
	for last := uintptr(0); ; time.Sleep(50 * time.Millisecond) {
		process, system := masks()
		if process == last {
			continue
		}
		last = process
		child, err := exec.Command(os.Args[0], "affinity", "child").Output()
		var info [12]uint32 // SYSTEM_INFO, whose ninth number is that of the processors
		kernel.NewProc("GetSystemInfo").Call(uintptr(unsafe.Pointer(&info)))
		fmt.Printf("process %b child %s system %b of %d (%v)\n", process, child, system, info[8], err)
	}
}
