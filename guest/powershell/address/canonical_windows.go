package address

import (
	"golang.org/x/sys/windows"
)

// canonical returns the name that a host has in full, with the domain in which a short one was found: what .NET asks
// GetAddrInfo for. It is the name itself if nobody knows.
func canonical(name string) string {
	const canonicalName = 2 // AI_CANONNAME of ws2tcpip.h
	asked, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return name
	}

	hints := windows.AddrinfoW{Flags: canonicalName, Family: windows.AF_UNSPEC}
	var found *windows.AddrinfoW
	if err := windows.GetAddrInfoW(asked, nil, &hints, &found); err != nil || found == nil {
		return name
	}
	defer windows.FreeAddrInfoW(found)
	if found.Canonname == nil {
		return name
	}
	return windows.UTF16PtrToString(found.Canonname)
}
