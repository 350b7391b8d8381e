package wmic

import "errors"

// errNoFormat is of a list that an alias does not have.
var errNoFormat = errors.New("Invalid list format.") //nolint:staticcheck,revive // in Windows' words

// briefs returns the properties that list brief shows, as the aliases of Windows have them (https://learn.microsoft.com/windows/win32/wmisdk/wmic), in the order of their names.
func briefs() map[string][]string {
	return map[string][]string{
		"win32_bios":           {"Manufacturer", "Name", "SerialNumber", "SMBIOSBIOSVersion", "Version"},
		"win32_computersystem": {"Domain", "Manufacturer", "Model", "Name", "PrimaryOwnerName", "TotalPhysicalMemory"},
		"win32_diskdrive":      {"Caption", "DeviceID", "Model", "Partitions", "Size"},
		"win32_diskpartition":  {"BootPartition", "Name", "PrimaryPartition", "Size"},
		"win32_logicaldisk":    {"DeviceID", "DriveType", "FreeSpace", "ProviderName", "Size", "VolumeName"},
		"win32_networkadapter": {"AdapterType", "DeviceID", "MACAddress", "Name", "NetworkAddresses", "ServiceName", "Speed"},
		"win32_networkadapterconfiguration": {
			"DefaultIPGateway", "Description", "DHCPEnabled", "DNSDomain", "Index", "IPAddress", "ServiceName",
		},
		"win32_operatingsystem": {"BuildNumber", "Organization", "RegisteredUser", "SerialNumber", "SystemDirectory", "Version"},
		"win32_pagefileusage":   {"Caption", "Name", "PeakUsage"},
		"win32_process":         {"HandleCount", "Name", "Priority", "ProcessId", "ThreadCount", "WorkingSetSize"},
		"win32_processor":       {"Caption", "DeviceID", "Manufacturer", "MaxClockSpeed", "Name", "SocketDesignation"},
		"win32_quickfixengineering": {
			"Description", "FixComments", "HotFixID", "InstallDate", "InstalledBy", "InstalledOn", "Name", "ServicePackInEffect", "Status",
		},
		"win32_service":      {"ExitCode", "Name", "ProcessId", "StartMode", "State", "Status"},
		"win32_systemdriver": {"DisplayName", "Name", "State"},
		"win32_useraccount":  {"AccountType", "Caption", "Domain", "FullName", "Name", "SID"},
	}
}
