package system

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// enumerateCompute asks the Host Compute Service for what it runs. The answer is memory that COM allocated
// (https://github.com/microsoft/hcsshim/blob/v0.12.9/internal/vmcompute/vmcompute.go).
func enumerateCompute(query string) (string, error) {
	q, err := windows.UTF16PtrFromString(query)
	if err != nil {
		return "", err
	}
	call := windows.NewLazySystemDLL("vmcompute.dll").NewProc("HcsEnumerateComputeSystems")
	if err := call.Find(); err != nil {
		return "", err
	}

	var answer, record *uint16
	hr, _, _ := call.Call(uintptr(unsafe.Pointer(q)), uintptr(unsafe.Pointer(&answer)),
		uintptr(unsafe.Pointer(&record)))
	for _, memory := range []*uint16{answer, record} {
		if memory != nil {
			defer windows.CoTaskMemFree(unsafe.Pointer(memory))
		}
	}

	if int32(hr) < 0 { // an HRESULT
		return "", fmt.Errorf("the Host Compute Service answers 0x%08x", uint32(hr)) // an HRESULT
	}
	return windows.UTF16PtrToString(answer), nil
}

// callHNS calls HNS as Windows' own module does. The answer is memory that COM allocated
// (https://github.com/microsoft/hnslib/blob/v0.1.2/internal/hns/hns.go).
func callHNS(method, path, body string) (string, error) {
	var in [3]*uint16
	for i, s := range []string{method, path, body} {
		var err error
		if in[i], err = windows.UTF16PtrFromString(s); err != nil {
			return "", err
		}
	}

	call := windows.NewLazySystemDLL("vmcompute.dll").NewProc("HNSCall")
	if err := call.Find(); err != nil {
		return "", err
	}

	var answer *uint16
	hr, _, _ := call.Call(uintptr(unsafe.Pointer(in[0])), uintptr(unsafe.Pointer(in[1])),
		uintptr(unsafe.Pointer(in[2])), uintptr(unsafe.Pointer(&answer)))
	if answer != nil {
		defer windows.CoTaskMemFree(unsafe.Pointer(answer))
	}

	return hnsAnswer(int32(hr), windows.UTF16PtrToString(answer)) // an HRESULT
}
