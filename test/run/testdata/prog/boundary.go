//go:build windows

package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// boundary tries to write a key of the machine, or reads the machine's certificates.
func boundary(what string) {
	if what == "registry" {
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
	for c, err := windows.CertEnumCertificatesInStore(store, nil); err == nil && c != nil; c, err = windows.CertEnumCertificatesInStore(store, c) {
		found++
	}
	fmt.Println(found, "read")
}
