//go:build windows

package main

import (
	"encoding/json"
	"fmt"
	"syscall"
	"unsafe"
)

// compute calls a function of vmcompute.dll.
//
//go:uintptrescapes
func compute(dll *syscall.DLL, name string, args ...uintptr) error {
	result, _, _ := dll.MustFindProc(name).Call(args...)
	if int32(result) < 0 {
		return fmt.Errorf("%s: 0x%08x", name, uint32(result))
	}
	return nil
}

// containers asks as hcsshim does (github.com/microsoft/hcsshim v0.12.9, internal/hcs/system.go): it lists the
// containers, opens each, takes a callback, and reads statistics.
func containers() error {
	dll, err := syscall.LoadDLL("vmcompute.dll")
	if err != nil {
		return err
	}
	var found, record uintptr
	if err := compute(dll, "HcsEnumerateComputeSystems", uintptr(text(`{"Types":["Container"]}`)),
		uintptr(unsafe.Pointer(&found)), uintptr(unsafe.Pointer(&record))); err != nil {
		return err
	}

	var all []struct {
		ID    string `json:"Id"`
		State string
	}
	if err := json.Unmarshal([]byte(utf16At(found, 1<<20)), &all); err != nil {
		return err
	}

	for _, one := range all {
		commit, err := commitOf(dll, one.ID)
		if err != nil {
			return err
		}
		fmt.Println(one.ID, one.State, commit)
	}

	var system uintptr
	result, _, _ := dll.MustFindProc("HcsOpenComputeSystem").Call(uintptr(text("unknown")),
		uintptr(unsafe.Pointer(&system)), uintptr(unsafe.Pointer(&record)))
	fmt.Printf("unknown: 0x%08x\n", uint32(result))
	return nil
}

// commitOf reads the memory that a container has committed.
func commitOf(dll *syscall.DLL, id string) (uint64, error) {
	var system, record, callback, properties uintptr
	if err := compute(dll, "HcsOpenComputeSystem", uintptr(text(id)), uintptr(unsafe.Pointer(&system)),
		uintptr(unsafe.Pointer(&record))); err != nil {
		return 0, err
	}
	if err := compute(dll, "HcsRegisterComputeSystemCallback", system, 0, 0,
		uintptr(unsafe.Pointer(&callback))); err != nil {
		return 0, err
	}

	if err := compute(dll, "HcsGetComputeSystemProperties", system, uintptr(text(`{"PropertyTypes":["Statistics"]}`)),
		uintptr(unsafe.Pointer(&properties)), uintptr(unsafe.Pointer(&record))); err != nil {
		return 0, err
	}
	var answer struct {
		Statistics struct {
			Memory struct{ MemoryUsageCommitBytes uint64 }
		}
	}

	if err := json.Unmarshal([]byte(utf16At(properties, 1<<20)), &answer); err != nil {
		return 0, err
	}
	if err := compute(dll, "HcsUnregisterComputeSystemCallback", callback); err != nil {
		return 0, err
	}
	return answer.Statistics.Memory.MemoryUsageCommitBytes, compute(dll, "HcsCloseComputeSystem", system)
}
