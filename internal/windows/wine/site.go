package wine

// w3svcKey is the service's key in the hive of HKEY_LOCAL_MACHINE.
const w3svcKey = `System\CurrentControlSet\Services\W3SVC`

// W3SVC returns the service of an image with IIS, whose program is Mullion's (package w3svc). What the image has of the
// service is replaced: IIS' is a library in a process of Windows' own. It is started on demand, by ServiceMonitor.exe
// as a rule; that of Windows starts by itself.
func W3SVC() Key {
	return onDemand(w3svcKey, ownProcess, "w3svc.exe", "World Wide Web Publishing Service",
		"Mullion's server of static files, in the place of IIS")
}

// msiscsi returns the service by which scripts start the iSCSI initiator.
func msiscsi() Key {
	return elsewhere("MSiSCSI", "Microsoft iSCSI Initiator Service",
		"Mullion's iSCSI initiator, which is there without it too")
}

// computeServices returns the services of the feature Containers, which Docker wants to be there.
func computeServices() []Key {
	return []Key{
		elsewhere("hns", "Host Network Service", "Mullion's Host Networking Service, which is there without it too"),
		elsewhere("vmcompute", "Hyper-V Host Compute Service",
			"Mullion's Host Compute Service, which is there without it too"),
	}
}

// elsewhere returns a service whose work the host's agent does (package hostservice).
func elsewhere(service, name, about string) Key {
	return onDemand(servicesKey+service, ownProcess, "hostservice.exe "+service, name, about)
}

// httpDriver returns the service of http.sys, whose driver is Mullion's (guest/c/http). httpapi.dll starts it when a
// program first needs it, whatever its user is; that of Windows runs.
func httpDriver() Key {
	return onDemand(servicesKey+"HTTP", kernelDriver, "mullionhttp.exe", "HTTP Service",
		"Mullion's HTTP Server API, in the place of http.sys")
}

// Kinds of services.
const (
	kernelDriver = 0x1
	ownProcess   = 0x10
)

// onDemand returns a service with a program of its own, in system32, that is started on demand.
func onDemand(key string, kind uint32, program, name, about string) Key {
	const (
		demandStart   = 3
		errorIsLogged = 1
	)
	return Key{Path: key, Clear: true, Values: []Value{
		DWORD("Type", kind), DWORD("Start", demandStart), DWORD("ErrorControl", errorIsLogged),
		ExpandSZ("ImagePath", `%SystemRoot%\System32\`+program), SZ("DisplayName", name), SZ("ObjectName", "LocalSystem"),
		SZ("Description", about),
	}}
}
