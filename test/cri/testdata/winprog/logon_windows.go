package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Structures and numbers of SSPI (https://learn.microsoft.com/windows/win32/api/sspi/).
type (
	secHandle struct{ lower, upper uintptr }
	secBuffer struct {
		size, kind uint32
		data       unsafe.Pointer
	}
	bufferDesc struct {
		version, count uint32
		buffers        *secBuffer
	}
)

// logon logs on at an HTTP server as the container's account, by a package of SSPI.
func logon(pkg, target, url string) {
	token, err := negotiate(pkg, target)
	if err != nil {
		fmt.Println("no token:", err)
		os.Exit(1)
	}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	request.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	response, err := (&http.Client{Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Printf("%d %s\n", response.StatusCode, body)
}

// negotiate returns the first token of a conversation with a server.
func negotiate(pkg, target string) ([]byte, error) {
	secur32 := windows.NewLazySystemDLL("secur32.dll")
	name, err := windows.UTF16PtrFromString(pkg)
	if err != nil {
		return nil, err
	}
	spn, err := windows.UTF16PtrFromString(target)
	if err != nil {
		return nil, err
	}
	const outbound, native, tokenBuffer, replay, continueNeeded = 2, 0x10, 2, 4, 0x90312
	var credential, context secHandle
	var expiry int64
	rc, _, _ := secur32.NewProc("AcquireCredentialsHandleW").Call(0, uintptr(unsafe.Pointer(name)), outbound, 0, 0, 0, 0,
		uintptr(unsafe.Pointer(&credential)), uintptr(unsafe.Pointer(&expiry)))
	if rc != 0 {
		return nil, fmt.Errorf("AcquireCredentialsHandle: %#x", uint32(rc))
	}
	data := make([]byte, 48<<10)
	buffer := secBuffer{size: uint32(len(data)), kind: tokenBuffer, data: unsafe.Pointer(&data[0])}
	out := bufferDesc{count: 1, buffers: &buffer}
	var attributes uint32
	rc, _, _ = secur32.NewProc("InitializeSecurityContextW").Call(uintptr(unsafe.Pointer(&credential)), 0,
		uintptr(unsafe.Pointer(spn)), replay, 0, native, 0, 0, uintptr(unsafe.Pointer(&context)),
		uintptr(unsafe.Pointer(&out)), uintptr(unsafe.Pointer(&attributes)), uintptr(unsafe.Pointer(&expiry)))
	if rc != 0 && rc != continueNeeded {
		return nil, fmt.Errorf("InitializeSecurityContext: %#x", uint32(rc))
	}
	return data[:buffer.size], nil
}
