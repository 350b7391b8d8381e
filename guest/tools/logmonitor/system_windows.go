package logmonitor

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/etw"
	"mullion.dev/mullion/guest/eventlog"
)

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Subscribe implements System.
func (local) Subscribe(q eventlog.Query, oldest bool) (Log, error) {
	return eventlog.System{}.Subscribe(q, oldest)
}

// Trace implements System.
func (local) Trace(name string, providers []etw.Provider, f func(etw.Record)) (func() (uint32, error), error) {
	session, err := etw.Start(name, providers)
	if err != nil {
		return nil, err
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r := range session.Records() {
			f(r)
		}
	}()

	return func() (uint32, error) {
		lost, err := session.Close()
		if err == nil {
			<-ended
		}
		return lost, err
	}, nil
}

// Start implements System. Windows finds the program in the command line by itself, also where a path with spaces has
// no quotes; os/exec would have to be told its file.
func (local) Start(line string, out *os.File) (func() (int, error), error) {
	text, err := windows.UTF16PtrFromString(line)
	if err != nil {
		return nil, err
	}

	output := windows.Handle(out.Fd())
	for _, handle := range []windows.Handle{output, windows.Stdin} {
		if handle != 0 {
			err := windows.SetHandleInformation(handle, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT)
			if err != nil {
				return nil, err
			}
		}
	}

	start := windows.StartupInfo{
		Flags: windows.STARTF_USESTDHANDLES, StdInput: windows.Stdin, StdOutput: output, StdErr: output,
	}
	start.Cb = uint32(unsafe.Sizeof(start))
	var process windows.ProcessInformation
	if err := windows.CreateProcess(nil, text, nil, nil, true, 0, nil, nil, &start, &process); err != nil {
		return nil, err
	}
	_ = windows.CloseHandle(process.Thread)
	return func() (int, error) {
		defer windows.CloseHandle(process.Process) //nolint:errcheck // it has ended
		if _, err := windows.WaitForSingleObject(process.Process, windows.INFINITE); err != nil {
			return 0, err
		}
		var code uint32
		err := windows.GetExitCodeProcess(process.Process, &code)
		return int(code), err
	}, nil
}
