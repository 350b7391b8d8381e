//go:build windows

package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/mgr"
)

// boundary tries to write a key of the machine or to make a service, opens a queue of HTTP requests, or reads the
// machine's certificates.
func boundary(what string) {
	switch what {
	case "service":
		makeService()
		return
	case "http":
		openQueue()
		return
	case "registry":
		_, _, err := registry.CreateKey(registry.LOCAL_MACHINE, `SOFTWARE\TriedByGo`, registry.SET_VALUE)
		fmt.Println(err)
		key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft`, registry.ALL_ACCESS)
		if err == nil {
			err = key.SetStringValue("tried", "x")
		}
		fmt.Println(err)
		return
	}
	name, err := windows.UTF16PtrFromString("Root")
	if err != nil {
		panic(err)
	}
	store, err := windows.CertOpenStore(windows.CERT_STORE_PROV_SYSTEM_W, 0, 0,
		windows.CERT_SYSTEM_STORE_LOCAL_MACHINE|windows.CERT_STORE_READONLY_FLAG, uintptr(unsafe.Pointer(name)))
	if err != nil {
		fmt.Println(err)
		return
	}
	found := 0
	c, err := windows.CertEnumCertificatesInStore(store, nil)
	for err == nil && c != nil {
		found++
		c, err = windows.CertEnumCertificatesInStore(store, c)
	}
	fmt.Println(found, "read")
}

// makeService does what programs of Go do to install themselves as a service, and what they do who know which rights
// they have.
func makeService() {
	m, err := mgr.Connect()
	fmt.Println(err)
	if err == nil {
		_ = m.Disconnect()
	}
	h, err := windows.OpenSCManager(nil, nil, windows.MAXIMUM_ALLOWED)
	if err != nil {
		panic(err)
	}
	m = &mgr.Mgr{Handle: h}
	_, err = m.CreateService("tried", `C:\Windows\System32\where.exe`, mgr.Config{})
	fmt.Println(err)
}

// openQueue opens a queue of requests of the HTTP Server API, which loads its driver.
func openQueue() {
	library := windows.NewLazySystemDLL("httpapi.dll")
	var queue uintptr
	_, _, _ = library.NewProc("HttpInitialize").Call(1, 1, 0) // version 1.0, as a server
	r, _, _ := library.NewProc("HttpCreateHttpHandle").Call(uintptr(unsafe.Pointer(&queue)), 0)
	if r != 0 || queue == 0 {
		fmt.Println(windows.Errno(r))
		return
	}
	fmt.Println("a queue")
}
