package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// describe asks Windows who and where we are.
func describe() system {
	v := windows.RtlGetVersion()
	s := system{version: fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)}
	if key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Windows NT\CurrentVersion`,
		registry.QUERY_VALUE); err == nil {
		defer key.Close()
		if ubr, _, err := key.GetIntegerValue("UBR"); err == nil {
			s.version += fmt.Sprintf(".%d", ubr)
		}
		s.product, _, _ = key.GetStringValue("ProductName")
	}
	s.host, _ = os.Hostname()
	s.user = userName()
	return s
}

func userName() string {
	name := make([]uint16, 256)
	size := uint32(len(name))
	if err := windows.GetUserNameEx(windows.NameSamCompatible, &name[0], &size); err != nil {
		return "unknown: " + err.Error()
	}
	return windows.UTF16ToString(name[:size])
}
