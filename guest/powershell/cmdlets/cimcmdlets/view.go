package cimcmdlets

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// tables are the properties of classes that Get-CimInstance shows in a table, as the formats of Windows PowerShell 5.1
// have them (https://learn.microsoft.com/powershell/module/cimcmdlets/get-ciminstance, its examples).
func tables() map[string][]string {
	return map[string][]string{
		"win32_computersystem":              {"Name", "PrimaryOwnerName", "Domain", "TotalPhysicalMemory", "Model", "Manufacturer"},
		"win32_logicaldisk":                 {"DeviceID", "DriveType", "ProviderName", "VolumeName", "Size", "FreeSpace"},
		"win32_networkadapterconfiguration": {"ServiceName", "DHCPEnabled", "Index", "Description"},
		"win32_operatingsystem":             {"SystemDirectory", "Organization", "BuildNumber", "RegisteredUser", "SerialNumber", "Version"},
		"win32_process":                     {"ProcessId", "Name", "HandleCount", "WorkingSetSize", "VirtualSize"},
		"win32_processor":                   {"DeviceID", "Name", "Caption", "MaxClockSpeed", "SocketDesignation", "Manufacturer"},
		"win32_service":                     {"ProcessId", "Name", "StartMode", "State", "Status", "ExitCode"},
	}
}

// lists are the properties that both cmdlets show in a list.
func lists() map[string][]string {
	return map[string][]string{
		"win32_bios": {"SMBIOSBIOSVersion", "Manufacturer", "Name", "SerialNumber", "Version"},
	}
}

// viewOf returns how an instance is shown: with some of its properties if it has all that its class has. Get-WmiObject
// lists what Get-CimInstance has in a table.
func viewOf(o *object.Object, class string, listed bool) *object.View {
	class = strings.ToLower(class)
	v := &object.View{Names: lists()[class]}
	if v.Names == nil {
		v.Names, v.Table = tables()[class], !listed
	}
	lacks := func(name string) bool { return !o.Has(strings.ToLower(name)) }
	if len(v.Names) == 0 || slices.ContainsFunc(v.Names, lacks) {
		return nil
	}
	return v
}
