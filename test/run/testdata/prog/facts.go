//go:build windows

package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// facts prints what Windows' calls say of the machine, a line "what=value" each.
func facts() {
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	v := windows.RtlGetVersion()
	say("version", "%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	say("product type", "%d", v.ProductType)
	var sku uint32
	_, _, _ = kernel.NewProc("GetProductInfo").Call(10, 0, 0, 0, uintptr(unsafe.Pointer(&sku)))
	say("sku", "%d", sku)
	say("processors", "%d", runtime.NumCPU())
	say("packages", "%d", count(kernel, 3))
	say("cores", "%d", count(kernel, 0))
	name, _ := windows.ComputerName()
	say("computer", "%s", name)
	host, _ := os.Hostname()
	say("host", "%s", host)
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName`, registry.QUERY_VALUE)
	if err == nil {
		name, _, _ = key.GetStringValue("ComputerName")
	}
	say("computer to be", "%s", name)
	if u, err := user.Current(); err == nil {
		say("user", "%s", u.Username)
		if back, err := user.Lookup(u.Username); err == nil {
			say("user found", "%s", back.Username)
		}
	}
	say("boot", "%d", time.Now().Add(-windows.DurationSinceBoot()).Unix()/60)
	memory := struct {
		length, load uint32
		sizes        [7]uint64
	}{}
	memory.length = uint32(unsafe.Sizeof(memory))
	_, _, _ = kernel.NewProc("GlobalMemoryStatusEx").Call(uintptr(unsafe.Pointer(&memory)))
	say("memory", "%d", memory.sizes[0]>>10)
	var zone windows.Timezoneinformation
	_, _ = windows.GetTimeZoneInformation(&zone)
	say("bias", "%d", zone.Bias)
	say("zone", "%s", windows.UTF16ToString(zone.StandardName[:]))
	_, offset := time.Now().Zone()
	say("offset", "%d", offset/60)
	addrs, _ := net.InterfaceAddrs()
	var list []string
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
			list = append(list, n.IP.String())
		}
	}
	say("addresses", "%s", strings.Join(list, " "))
}

func say(what, format string, args ...any) { fmt.Printf(what+"="+format+"\n", args...) }

// count is how many of a kind GetLogicalProcessorInformationEx says that there are.
func count(kernel *windows.LazyDLL, kind uint32) (n int) {
	call := kernel.NewProc("GetLogicalProcessorInformationEx")
	var size uint32
	_, _, _ = call.Call(uintptr(kind), 0, uintptr(unsafe.Pointer(&size)))
	if size == 0 {
		return 0
	}
	buffer := make([]byte, size)
	ok, _, _ := call.Call(uintptr(kind), uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&size)))
	if ok == 0 {
		return -1
	}
	for at := uint32(0); at < size; n++ {
		at += *(*uint32)(unsafe.Pointer(&buffer[at+4]))
	}
	return n
}
