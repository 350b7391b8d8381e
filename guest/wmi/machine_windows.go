package wmi

import (
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"mullion.dev/mullion/guest/tools/program"
)

// thisMachine asks the registry and the other calls of Windows.
func thisMachine() Machine {
	m := Machine{
		Product:  text(`SOFTWARE\Microsoft\Windows NT\CurrentVersion`, "ProductName"),
		UUID:     text(`SYSTEM\HardwareConfig`, "LastConfig"),
		User:     userName(),
		Cores:    program.Count(program.Cores),
		Adapters: map[int64]Adapter{},
	}
	all, _ := program.Adapters() // none if they cannot be listed
	for _, a := range all {
		m.Adapters[int64(a.Index)] = Adapter{DHCP: a.DHCP, Addressed: len(a.Addresses) > 0}
	}
	return m
}

// text returns a value of HKEY_LOCAL_MACHINE, "" if it is not there.
func text(path, name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	value, _, _ := key.GetStringValue(name)
	return value
}

// userName returns the user with its domain, "" if it is not known.
func userName() string {
	name := make([]uint16, 512)
	size := uint32(len(name))
	if windows.GetUserNameEx(windows.NameSamCompatible, &name[0], &size) != nil {
		return ""
	}
	return windows.UTF16ToString(name)
}
