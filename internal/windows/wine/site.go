package wine

// w3svcKey is the service's key in the hive of HKEY_LOCAL_MACHINE.
const w3svcKey = `System\CurrentControlSet\Services\W3SVC`

// W3SVC is the service of an image with IIS, whose program is Mullion's (package w3svc). What the image has of the
// service is replaced: IIS' is a library in a process of Windows' own. It is started on demand, by ServiceMonitor.exe
// as a rule; that of Windows starts by itself.
func W3SVC() Key {
	const (
		ownProcess    = 0x10
		demandStart   = 3
		errorIsLogged = 1
	)
	return Key{Path: w3svcKey, Clear: true, Values: []Value{
		DWORD("Type", ownProcess), DWORD("Start", demandStart), DWORD("ErrorControl", errorIsLogged),
		ExpandSZ("ImagePath", `%SystemRoot%\System32\w3svc.exe`),
		SZ("DisplayName", "World Wide Web Publishing Service"), SZ("ObjectName", "LocalSystem"),
		SZ("Description", "Mullion's server of static files, in the place of IIS"),
	}}
}
