package winproc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// CommandLine returns the command line with which a process was started. It is in the memory of the process, which may
// have changed it.
func CommandLine(id uint32) (string, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, id)
	if err != nil {
		return "", fmt.Errorf("open process %d: %w", id, err)
	}
	defer windows.CloseHandle(process) //nolint:errcheck // it was only read

	var basic windows.PROCESS_BASIC_INFORMATION
	err = windows.NtQueryInformationProcess(process, windows.ProcessBasicInformation, unsafe.Pointer(&basic),
		uint32(unsafe.Sizeof(basic)), nil)
	if err != nil {
		return "", fmt.Errorf("ask for process %d: %w", id, err)
	}

	read := func(from uintptr, to unsafe.Pointer, size uintptr) {
		if err == nil && size > 0 {
			err = windows.ReadProcessMemory(process, from, (*byte)(to), size, nil)
		}
	}

	var parameters uintptr
	read(uintptr(unsafe.Pointer(basic.PebBaseAddress))+unsafe.Offsetof(windows.PEB{}.ProcessParameters),
		unsafe.Pointer(&parameters), unsafe.Sizeof(parameters))
	var line struct { // UNICODE_STRING; where its text is in the other process is no pointer of ours
		Length, MaximumLength uint16
		Buffer                uintptr
	}

	read(parameters+unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.CommandLine), unsafe.Pointer(&line),
		unsafe.Sizeof(line))
	units := make([]uint16, line.Length/2)
	read(line.Buffer, unsafe.Pointer(unsafe.SliceData(units)), uintptr(len(units))*2)
	if err != nil {
		return "", fmt.Errorf("read process %d: %w", id, err)
	}

	return windows.UTF16ToString(units), nil
}
