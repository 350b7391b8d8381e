package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"unsafe"
)

// serveOne serves one request at the URL prefix by httpapi.dll, the HTTP Server API, and asks for it itself.
func serveOne(prefix, url string) {
	library := syscall.NewLazyDLL("httpapi.dll")
	call := func(function string, args ...uintptr) {
		if r, _, _ := library.NewProc(function).Call(args...); r != 0 {
			fmt.Printf("%s: %v\n", function, syscall.Errno(r))
			os.Exit(1)
		}
	}
	text, err := syscall.UTF16PtrFromString(prefix)
	if err != nil {
		panic(err)
	}
	type request struct { // the beginning of HTTP_REQUEST_V1
		flags          uint32
		connection, id uint64
	}
	// HTTP_RESPONSE_V1 without a reason and without a body: flags, version, status.
	response := make([]uint64, 128)
	response[1] = 204
	buffer := make([]uint64, 1<<12)
	queue := new(uintptr)
	const version1, server = 1, 1
	call("HttpInitialize", version1, server, 0)
	call("HttpCreateHttpHandle", uintptr(unsafe.Pointer(queue)), 0)
	call("HttpAddUrl", *queue, uintptr(unsafe.Pointer(text)), 0)
	answer := make(chan string)
	go func() {
		r, err := http.Get(url)
		if err != nil {
			answer <- err.Error()
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		answer <- r.Status + " " + r.Header.Get("Server")
	}()
	call("HttpReceiveHttpRequest", *queue, 0, 0, uintptr(unsafe.Pointer(&buffer[0])), 8<<12, 0, 0)
	id := (*request)(unsafe.Pointer(&buffer[0])).id
	call("HttpSendHttpResponse", *queue, uintptr(id), 0, uintptr(unsafe.Pointer(&response[0])), 0, 0, 0, 0, 0, 0)
	fmt.Println("answered", <-answer)
}
