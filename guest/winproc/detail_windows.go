package winproc

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// vmCounters is VM_COUNTERS
// (https://learn.microsoft.com/windows/win32/api/psapi/ns-psapi-process_memory_counters has the same by other names).
type vmCounters struct {
	peakVirtual, virtual           uintptr
	faults                         uint32
	peakWorkingSet, workingSet     uintptr
	peakPagedPool, pagedPool       uintptr
	peakNonpagedPool, nonpagedPool uintptr
	pagefile, peakPagefile         uintptr
}

// DetailOf returns what Windows counts of a process.
func DetailOf(id uint32) (Detail, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, id)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		process, err = windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, id)
	}
	if err != nil {
		return Detail{}, fmt.Errorf("open process %d: %w", id, err)
	}
	defer windows.CloseHandle(process) //nolint:errcheck // it was only read

	var d Detail
	var memory vmCounters
	err = windows.NtQueryInformationProcess(process, windows.ProcessVmCounters, unsafe.Pointer(&memory),
		uint32(unsafe.Sizeof(memory)), nil)
	if err != nil {
		return Detail{}, fmt.Errorf("ask for the memory of process %d: %w", id, err)
	}
	d.WorkingSet, d.PeakWorkingSet = uint64(memory.workingSet), uint64(memory.peakWorkingSet)
	d.Virtual, d.PeakVirtual = uint64(memory.virtual), uint64(memory.peakVirtual)
	d.Paged, d.PeakPaged = uint64(memory.pagefile), uint64(memory.peakPagefile)
	d.PagedPool, d.Nonpaged = uint64(memory.pagedPool), uint64(memory.nonpagedPool)

	var start, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &start, &exit, &kernel, &user); err != nil {
		return Detail{}, fmt.Errorf("ask for the times of process %d: %w", id, err)
	}
	d.Start = time.Unix(0, start.Nanoseconds())
	d.Kernel, d.User = span(kernel), span(user)

	// what is not told is 0: it is shown beside what is
	_ = windows.NtQueryInformationProcess(process, windows.ProcessHandleCount, unsafe.Pointer(&d.Handles), 4, nil)
	_ = windows.ProcessIdToSessionId(id, &d.Session)
	path := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(path))
	if windows.QueryFullProcessImageName(process, 0, &path[0], &size) == nil {
		d.Path = windows.UTF16ToString(path[:size])
	}
	return d, nil
}

// span returns a time that is counted in units of 100 ns.
func span(t windows.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}
