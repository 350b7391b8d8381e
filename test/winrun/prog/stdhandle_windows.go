package main

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// asks returns what run times ask of a handle that they have been given; each returns what was answered.
func asks(h windows.Handle) []struct {
	name string
	ask  func() (string, error)
} {
	const basicInfo, nameInfo = 0, 2 // FILE_INFO_BY_HANDLE_CLASS
	return []struct {
		name string
		ask  func() (string, error)
	}{
		{"type", func() (string, error) {
			kind, err := windows.GetFileType(h)
			return fmt.Sprint(kind), err
		}},
		{"set", func() (string, error) {
			var bytesAndWait uint32
			return "done", windows.SetNamedPipeHandleState(h, &bytesAndWait, nil, nil)
		}},
		{"state", func() (string, error) {
			var mode, instances uint32
			err := windows.GetNamedPipeHandleState(h, &mode, &instances, nil, nil, nil, 0)
			return fmt.Sprintf("mode %d instances %d", mode, instances), err
		}},
		{"info", func() (string, error) {
			var flags, out, in, most uint32
			err := windows.GetNamedPipeInfo(h, &flags, &out, &in, &most)
			return fmt.Sprintf("flags %d buffers %t most %d", flags, out > 0 && in > 0, most), err
		}},
		{"peek", func() (string, error) { return peek(h) }},
		{"attributes", func() (string, error) {
			var basic [5]uint64
			err := windows.GetFileInformationByHandleEx(h, basicInfo, (*byte)(unsafe.Pointer(&basic)), 40)
			return fmt.Sprintf("%#x", uint32(basic[4])), err
		}},
		{"name", func() (string, error) {
			var name [300]uint16
			err := windows.GetFileInformationByHandleEx(h, nameInfo, (*byte)(unsafe.Pointer(&name)), 600)
			length := *(*uint32)(unsafe.Pointer(&name)) / 2
			return fmt.Sprintf("%q", windows.UTF16ToString(name[2:2+min(length, 298)])), err
		}},
		{"by_handle", func() (string, error) {
			var info windows.ByHandleFileInformation
			err := windows.GetFileInformationByHandle(h, &info)
			return fmt.Sprintf("links %d size %d", info.NumberOfLinks, info.FileSizeLow), err
		}},
		{"flush", func() (string, error) { return "done", windows.FlushFileBuffers(h) }},
	}
}

// peek tells how many bytes a pipe has, and which.
func peek(h windows.Handle) (string, error) {
	var buffer [8]byte
	var read, available uint32
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
	if ok, _, err := call.Call(uintptr(h), uintptr(unsafe.Pointer(&buffer)), uintptr(len(buffer)),
		uintptr(unsafe.Pointer(&read)), uintptr(unsafe.Pointer(&available)), 0); ok == 0 {
		return "", err
	}
	return fmt.Sprintf("%q of %d", buffer[:read], available), nil
}

// standardHandle prints what is answered for the handle that is named: "in" or "out".
func standardHandle(args []string) error {
	h := windows.Handle(os.Stdin.Fd())
	if args[0] == "out" {
		h = windows.Handle(os.Stdout.Fd())
	}
	kind, err := windows.GetFileType(h)
	if err != nil {
		return err
	}

	for _, a := range asks(h) {
		if a.name == "by_handle" && kind != windows.FILE_TYPE_DISK {
			continue // a question for files
		}
		answer, err := a.ask()
		if err != nil {
			answer = fmt.Sprintf("error %d", err)
		}
		fmt.Println(a.name, answer)
	}

	return nil
}

// readNothing reads no bytes from the standard input, which waits until there are some.
func readNothing() error {
	var none [1]byte
	var done uint32
	return windows.ReadFile(windows.Handle(os.Stdin.Fd()), none[:0], &done, nil)
}

// waitForInput waits for input as libuv does: a thread reads no bytes. It is cancelled once; then it waits for input,
// which comes when "ready" has been printed, and for the end of the input.
func waitForInput([]string) error {
	cancel := windows.NewLazySystemDLL("kernel32.dll").NewProc("CancelSynchronousIo")
	thread, done := make(chan windows.Handle), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		var h windows.Handle
		if err := windows.DuplicateHandle(windows.CurrentProcess(), windows.CurrentThread(), windows.CurrentProcess(),
			&h, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
			done <- err
		}
		thread <- h
		done <- readNothing()
	}()

	reader := <-thread
	for waiting := true; waiting; {
		_, _, _ = cancel.Call(uintptr(reader)) // until the thread has begun to wait there is nothing to cancel
		select {
		case err := <-done:
			fmt.Printf("cancelled %d\n", err)
			waiting = false
		default:
		}
	}

	fmt.Println("ready")
	if err := readNothing(); err != nil {
		return fmt.Errorf("wait for input: %w", err)
	}
	available, err := peek(windows.Handle(os.Stdin.Fd()))
	if err != nil {
		return fmt.Errorf("look at the input: %w", err)
	}

	fmt.Println("there is", available)
	var buffer [8]byte
	if _, err := os.Stdin.Read(buffer[:]); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	fmt.Printf("end %d\n", readNothing())
	return nil
}
