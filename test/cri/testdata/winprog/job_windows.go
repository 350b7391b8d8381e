package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The information classes that job asks for, with the greatest size of their structures.
var jobClasses = []struct {
	name   string
	number int32
	size   int
	show   func([]byte) string
}{
	{"groups", windows.JobObjectGroupInformationEx, 1024, func(b []byte) string {
		var out []string
		for ; len(b) >= 16; b = b[16:] {
			out = append(out, fmt.Sprintf("%d:%b", binary.LittleEndian.Uint16(b[8:]), binary.LittleEndian.Uint64(b)))
		}
		return strings.Join(out, " ")
	}},
	{"rate", windows.JobObjectCpuRateControlInformation, 8, func(b []byte) string {
		return fmt.Sprintf("%#x %d", binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]))
	}},
	{"limits", windows.JobObjectExtendedLimitInformation, 144, func(b []byte) string {
		info := (*windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION)(unsafe.Pointer(&b[0]))
		return fmt.Sprintf("%#x %d", info.BasicLimitInformation.LimitFlags, info.JobMemoryLimit)
	}},
	{"accounting", windows.JobObjectBasicAccountingInformation, 48, func(b []byte) string {
		return fmt.Sprintf("some time %t, active %t", binary.LittleEndian.Uint64(b)+binary.LittleEndian.Uint64(b[8:]) > 0,
			binary.LittleEndian.Uint32(b[40:]) > 0)
	}},
	{"memory", 28, 16, func(b []byte) string { return fmt.Sprint("some ", binary.LittleEndian.Uint64(b) > 0) }},
	{"network", 32, 16, func(b []byte) string { return fmt.Sprint(b) }},
	{"storage", 42, 72, func(b []byte) string { return fmt.Sprint("flags ", b[0]) }},
	{"list", windows.JobObjectBasicProcessIdList, 1024, func([]byte) string { return "answered" }},
}

// job says what a job object answers: that of a name, opened as Kubernetes' node tests do, or without one its own.
func job() {
	var handle windows.Handle
	if len(os.Args) > 2 {
		var err error
		if handle, err = openJob(os.Args[2]); err != nil {
			fmt.Println("open:", err)
			return
		}
	} else {
		var in int32
		call := windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")
		if ok, _, err := call.Call(uintptr(windows.CurrentProcess()), 0, uintptr(unsafe.Pointer(&in))); ok == 0 {
			fmt.Println("IsProcessInJob:", err)
		}
		fmt.Println("in a job:", in)
	}
	for _, class := range jobClasses {
		b := make([]byte, class.size)
		var size uint32
		err := windows.QueryInformationJobObject(handle, class.number, uintptr(unsafe.Pointer(&b[0])), uint32(len(b)),
			&size)
		if err != nil {
			fmt.Printf("%s: %v\n", class.name, err)
			continue
		}
		fmt.Printf("%s: %s\n", class.name, class.show(b[:size]))
	}
	if handle != 0 {
		fmt.Println("end:", windows.TerminateJobObject(handle, 1))
		var twice windows.Handle
		this := windows.CurrentProcess()
		err := windows.DuplicateHandle(this, handle, this, &twice, 0, false, windows.DUPLICATE_SAME_ACCESS)
		if err == nil {
			_ = windows.CloseHandle(handle)
			b := make([]byte, 1024)
			err = windows.QueryInformationJobObject(twice, windows.JobObjectGroupInformationEx,
				uintptr(unsafe.Pointer(&b[0])), uint32(len(b)), nil)
		}
		fmt.Println("by a duplicate:", err)
	}
}

func openJob(name string) (handle windows.Handle, err error) {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return 0, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{ObjectName: text, Attributes: windows.OBJ_CASE_INSENSITIVE}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	const query = 4
	status, _, _ := syscall.NewLazyDLL("ntdll.dll").NewProc("NtOpenJobObject").Call(uintptr(unsafe.Pointer(&handle)),
		query, uintptr(unsafe.Pointer(&attributes)))
	if status != 0 {
		return 0, windows.NTStatus(status)
	}
	return handle, nil
}
