package main

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// The messages that tell a window of an end
// (https://learn.microsoft.com/windows/win32/shutdown/shutting-down).
const (
	wmClose           = 0x10
	wmQueryEndSession = 0x11
	wmEndSession      = 0x16
)

// windowClass is WNDCLASSW.
type windowClass struct {
	style                              uint32
	procedure                          uintptr
	classExtra, windowExtra            int32
	instance, icon, cursor, background uintptr
	menu, name                         *uint16
}

// window has a window, and says which messages of an end it gets.
func window([]string) error {
	runtime.LockOSThread()
	user32 := syscall.NewLazyDLL("user32.dll")
	byDefault := user32.NewProc("DefWindowProcW")
	procedure := func(window, message, w, l uintptr) uintptr {
		switch message {
		case wmClose, wmQueryEndSession, wmEndSession:
			fmt.Printf("message %#x\n", message)
		}
		r, _, _ := byDefault.Call(window, message, w, l)
		return r
	}

	name, err := syscall.UTF16PtrFromString("mullion test")
	if err != nil {
		return err
	}
	class := windowClass{procedure: syscall.NewCallback(procedure), name: name}
	if atom, _, err := user32.NewProc("RegisterClassW").Call(uintptr(unsafe.Pointer(&class))); atom == 0 {
		return fmt.Errorf("register a class: %w", err)
	}

	const messageOnly = ^uintptr(2) // HWND_MESSAGE: no other windows can be made in a container
	made, _, err := user32.NewProc("CreateWindowExW").Call(0, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(name)),
		0, 0, 0, 100, 100, messageOnly, 0, 0, 0)
	if made == 0 {
		return fmt.Errorf("make a window: %w", err)
	}

	fmt.Println("ready")
	var message [48]byte // MSG
	for {
		more, _, err := user32.NewProc("GetMessageW").Call(uintptr(unsafe.Pointer(&message)), 0, 0, 0)
		if int32(more) <= 0 {
			return err
		}
		_, _, _ = user32.NewProc("DispatchMessageW").Call(uintptr(unsafe.Pointer(&message)))
	}
}
