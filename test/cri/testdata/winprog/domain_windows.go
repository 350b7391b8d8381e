package main

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// domain says what Windows' functions say of the domain that the computer is in.
func domain() {
	netapi := windows.NewLazySystemDLL("netapi32.dll")
	var name *uint16
	var kind uint32
	rc, _, _ := netapi.NewProc("NetGetJoinInformation").Call(0, uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&kind)))
	fmt.Printf("join: %d %d %s\n", rc, kind, windows.UTF16PtrToString(name))
	// DOMAIN_CONTROLLER_INFOW
	var info *struct {
		name, address *uint16
		kind          uint32
		guid          windows.GUID
		domain        *uint16
		forest        *uint16
		flags         uint32
		dcSite        *uint16
		ourSite       *uint16
	}
	rc, _, _ = netapi.NewProc("DsGetDcNameW").Call(0, 0, 0, 0, 0, uintptr(unsafe.Pointer(&info)))
	fmt.Printf("dc: %d", rc)
	if rc == 0 {
		fmt.Printf(" %s %s %d %v %s %s", windows.UTF16PtrToString(info.name), windows.UTF16PtrToString(info.address), info.kind,
			info.guid, windows.UTF16PtrToString(info.domain), windows.UTF16PtrToString(info.forest))
	}
	fmt.Println()
	var narrow *struct{ name, address *byte }
	rc, _, _ = netapi.NewProc("DsGetDcNameA").Call(0, 0, 0, 0, 0, uintptr(unsafe.Pointer(&narrow)))
	fmt.Printf("dc, narrow: %d", rc)
	if rc == 0 {
		fmt.Printf(" %s %s", windows.BytePtrToString(narrow.name), windows.BytePtrToString(narrow.address))
	}
	fmt.Println()
}
