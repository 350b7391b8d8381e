package main

import (
	"fmt"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// memory takes pieces of memory of so many MB until there are no more, says what the system's memory is before and
// after, and waits.
func memory(megabytes string) {
	kernel := syscall.NewLazyDLL("kernel32.dll")
	sayMemory(kernel)
	piece, _ := strconv.Atoi(megabytes)
	taken := 0
	for {
		const reserveAndCommit, readWrite = 0x3000, 4
		at, _, err := kernel.NewProc("VirtualAlloc").Call(0, uintptr(piece<<20), reserveAndCommit, readWrite)
		if at == 0 {
			fmt.Printf("refused after %d with error %d\n", taken, err)
			break
		}
		all := unsafe.Slice((*byte)(unsafe.Add(nil, at)), piece<<20)
		for i := 0; i < len(all); i += 4096 {
			all[i] = 1
		}
		taken += piece
	}
	time.Sleep(3 * time.Second) // Wine asks Linux once a second, and Linux adds its figures up every two
	sayMemory(kernel)
	fmt.Println("said")
	time.Sleep(time.Hour)
}

// commit commits so many MB in pieces, which it touches, and says how much it got and why not more.
func commit(megabytes string) {
	const piece, commitNow, readWrite = 8, 0x3000, 4
	allocate := syscall.NewLazyDLL("kernel32.dll").NewProc("VirtualAlloc")
	want, _ := strconv.Atoi(megabytes)
	got := 0
	for got < want {
		at, _, err := allocate.Call(0, piece<<20, commitNow, readWrite)
		if at == 0 {
			fmt.Printf("committed %d error %d\n", got, err)
			return
		}
		all := unsafe.Slice((*byte)(unsafe.Add(nil, at)), piece<<20)
		for i := 0; i < len(all); i += 4096 {
			all[i] = 1
		}
		got += piece
	}
	fmt.Printf("committed %d error 0\n", got)
}

// sayMemory says what the memory is, in bytes, by each of the ways to ask.
func sayMemory(kernel *syscall.LazyDLL) {
	status := struct {
		length, load                                                           uint32
		total, available, pageTotal, pageAvailable, virtual, freeVirtual, more uint64
	}{length: 64}
	kernel.NewProc("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&status)))
	var installed uint64
	kernel.NewProc("GetPhysicallyInstalledSystemMemory").Call(uintptr(unsafe.Pointer(&installed)))
	performance := struct {
		size                                                    uint32
		committed, limit, peak, total, available, cache, _a, _b uint64
		_c, page                                                uint64
		handles, processes, threads                             uint32
	}{size: 104}
	syscall.NewLazyDLL("psapi.dll").NewProc("GetPerformanceInfo").Call(uintptr(unsafe.Pointer(&performance)),
		unsafe.Sizeof(performance))
	fmt.Printf("status %d %d page file %d %d installed %d\n", status.total, status.available, status.pageTotal,
		status.pageAvailable, installed*1024)
	p := performance
	fmt.Printf("performance %d %d commit %d %d\n", p.total*4096, p.available*4096, p.limit*4096, p.committed*4096)
	fmt.Printf("counters limit %d committed %d available %d private %d\n", counter(`\Memory\Commit Limit`),
		counter(`\Memory\Committed Bytes`), counter(`\Memory\Available Bytes`),
		counter(`\Process(_Total)\Working Set - Private`))
}

// counter is the value of a performance counter.
func counter(path string) int64 {
	pdh := syscall.NewLazyDLL("pdh.dll")
	var query, handle uintptr
	name, _ := syscall.UTF16PtrFromString(path)
	pdh.NewProc("PdhOpenQueryW").Call(0, 0, uintptr(unsafe.Pointer(&query)))
	pdh.NewProc("PdhAddEnglishCounterW").Call(query, uintptr(unsafe.Pointer(name)), 0, uintptr(unsafe.Pointer(&handle)))
	pdh.NewProc("PdhCollectQueryData").Call(query)
	const large = 0x400
	var value struct {
		status uint32
		large  int64
	}
	pdh.NewProc("PdhGetFormattedCounterValue").Call(handle, large, 0, uintptr(unsafe.Pointer(&value)))
	pdh.NewProc("PdhCloseQuery").Call(query)
	return value.large
}
