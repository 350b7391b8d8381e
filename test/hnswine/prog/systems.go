//go:build windows

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// versionOne calls the functions of vmcompute.dll as hcsshim does
// (https://github.com/microsoft/hcsshim/blob/v0.14.1/internal/vmcompute/vmcompute.go).
type versionOne struct {
	dll, sockets *syscall.DLL
	notified     chan string
}

// call calls a function whose last argument is where an error's record goes.
//
//go:uintptrescapes
func (v versionOne) call(name string, args ...uintptr) error {
	var record uintptr
	result, _, _ := v.dll.MustFindProc(name).Call(append(args, uintptr(unsafe.Pointer(&record)))...)
	if int32(result) >= 0 {
		return nil
	}
	if record == 0 {
		return fmt.Errorf("%s: 0x%08x", name, uint32(result))
	}
	return fmt.Errorf("%s: 0x%08x %s", name, uint32(result), utf16At(record, 1<<12))
}

// processInformation is HCS_PROCESS_INFORMATION.
type processInformation struct {
	pid, reserved         uint32
	input, output, errors syscall.Handle
}

// systemDocument is a compute system, with the paths of its layer and of its scratch.
const systemDocument = `{"Owner":"hnsload","SchemaVersion":{"Major":2,"Minor":1},"Container":{"GuestOs":{"HostName":"box"},` +
	`"Storage":{"Layers":[{"Id":"x","Path":%q}],"Path":%q}}}`

const everyStream = `{"CommandLine":"x.exe","CreateStdInPipe":true,"CreateStdOutPipe":true,"CreateStdErrPipe":true}`

// systems makes a compute system, runs two programs in it, ends it, and prints what it is told.
func systems(volume, layer string) error {
	v := versionOne{notified: make(chan string, 8)}
	var err error
	if v.dll, err = syscall.LoadDLL("vmcompute.dll"); err != nil {
		return err
	}
	if v.sockets, err = syscall.LoadDLL("ws2_32.dll"); err != nil {
		return err
	}

	callback := syscall.NewCallback(func(kind, context, status uintptr, data uintptr) uintptr {
		said := ""
		if data != 0 {
			said = " " + utf16At(data, 1<<12)
		}
		v.notified <- fmt.Sprintf("%d: 0x%x 0x%x%s", context, uint32(kind), uint32(status), said)
		return 0
	})

	// What is refused says why.
	var system, registered uintptr
	document := fmt.Sprintf(systemDocument, layer, volume)
	for _, refused := range []string{`{"SystemType":"Container"}`, strings.Replace(document, "GuestOs", "Colour", 1)} {
		err := v.call("HcsCreateComputeSystem", uintptr(text("one")), uintptr(text(refused)), 0, uintptr(unsafe.Pointer(&system)))
		fmt.Println(err)
	}

	if err := v.call("HcsCreateComputeSystem", uintptr(text("one")), uintptr(text(document)), 0,
		uintptr(unsafe.Pointer(&system))); err != nil {
		return err
	}
	if err := compute(v.dll, "HcsRegisterComputeSystemCallback", system, callback, 1,
		uintptr(unsafe.Pointer(&registered))); err != nil {
		return err
	}

	if err := v.call("HcsStartComputeSystem", system, 0); err != nil {
		return err
	}

	first, err := v.start(system)
	if err != nil {
		return err
	}
	if err := v.passThrough(system, callback); err != nil {
		return err
	}

	if err := v.call("HcsShutdownComputeSystem", system, 0); err != nil {
		return err
	}
	if err := v.await(); err != nil {
		return err
	}
	said, err := v.read(first.output)
	fmt.Printf("first: %q %v\n", said, err)

	if err := compute(v.dll, "HcsUnregisterComputeSystemCallback", registered); err != nil {
		return err
	}
	return compute(v.dll, "HcsCloseComputeSystem", system)
}

// start starts a program whose handle is closed at once.
func (v versionOne) start(system uintptr) (info processInformation, err error) {
	var process uintptr
	if err := v.call("HcsCreateProcess", system, uintptr(text(everyStream)), uintptr(unsafe.Pointer(&info)),
		uintptr(unsafe.Pointer(&process))); err != nil {
		return info, err
	}
	return info, compute(v.dll, "HcsCloseProcess", process)
}

// passThrough runs a program that passes its input on.
func (v versionOne) passThrough(system, callback uintptr) error {
	var info, again processInformation
	var process, opened, registered, properties uintptr
	if err := v.call("HcsCreateProcess", system, uintptr(text(everyStream)), uintptr(unsafe.Pointer(&info)),
		uintptr(unsafe.Pointer(&process))); err != nil {
		return err
	}

	if err := compute(v.dll, "HcsRegisterProcessCallback", process, callback, 2,
		uintptr(unsafe.Pointer(&registered))); err != nil {
		return err
	}
	if err := v.call("HcsOpenProcess", system, uintptr(info.pid), uintptr(unsafe.Pointer(&opened))); err != nil {
		return err
	}

	if err := v.call("HcsGetProcessInfo", opened, uintptr(unsafe.Pointer(&again))); err != nil || again.pid != info.pid {
		return fmt.Errorf("the process %d is opened as %d: %w", info.pid, again.pid, err)
	}

	word := []byte("through")
	sent, _, _ := v.sockets.MustFindProc("send").Call(uintptr(info.input), uintptr(unsafe.Pointer(&word[0])), uintptr(len(word)), 0)
	if int(sent) != len(word) {
		return fmt.Errorf("%d bytes of input are sent", int32(sent))
	}
	if err := v.call("HcsModifyProcess", process,
		uintptr(text(`{"Operation":"CloseHandle","CloseHandle":{"Handle":"StdIn"}}`))); err != nil {
		return err
	}

	said, err := v.read(info.output)
	fmt.Printf("later: %q %v\n", said, err)
	if err := v.await(); err != nil {
		return err
	}
	if err := v.call("HcsGetProcessProperties", process, uintptr(unsafe.Pointer(&properties))); err != nil {
		return err
	}

	fmt.Println(strings.Contains(utf16At(properties, 1<<12), `"ExitCode":519`))
	fmt.Println(v.call("HcsTerminateProcess", opened))

	err = compute(v.dll, "HcsUnregisterProcessCallback", registered)
	return errors.Join(err, compute(v.dll, "HcsCloseProcess", opened), compute(v.dll, "HcsCloseProcess", process))
}

// read reads a stream to its end.
func (v versionOne) read(from syscall.Handle) (string, error) {
	var all []byte
	for {
		part := make([]byte, 64)
		n, _, err := v.sockets.MustFindProc("recv").Call(uintptr(from), uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), 0)
		switch {
		case int32(n) < 0:
			return string(all), err
		case n == 0:
			return string(all), nil
		}
		all = append(all, part[:n]...)
	}
}

// await prints the next notification, without the process' id.
func (v versionOne) await() error {
	select {
	case said := <-v.notified:
		begin, rest, _ := strings.Cut(said, `"ProcessId":`)
		if _, after, found := strings.Cut(rest, ","); found {
			begin += after
		}
		fmt.Println(begin)
		return nil
	case <-time.After(30 * time.Second):
		return errors.New("no notification came")
	}
}
