package winapi

import "mullion.dev/mullion/internal/base/support"

// routeRows are about adapters, routes and compartments, of iphlpapi.dll.
func routeRows() []support.Row {
	return []support.Row{
		{
			Name:  "names of adapters",
			Level: support.Partly,
			Ref:   win32 + "api/iptypes/ns-iptypes-ip_adapter_addresses_lh",
			Note:  "a host's adapter is Ethernet, and vEthernet (Ethernet) when a network of the Host Networking Service is on it; others have Linux' names, as those of pods do",
		},
		{
			Name:  "SetCurrentThreadCompartmentId",
			API:   []string{"iphlpapi.dll SetCurrentThreadCompartmentId"},
			Level: support.Not,
			Ref:   win32 + "api/iphlpapi/nf-iphlpapi-setcurrentthreadcompartmentid",
			Note:  "Wine's iphlpapi.dll does not export it, so a program that looks for it ends or goes on without",
		},
		{
			Name:  "CreateIpForwardEntry, SetIpForwardEntry, DeleteIpForwardEntry",
			Level: support.Partly,
			Ref:   win32 + "api/iphlpapi/nf-iphlpapi-createipforwardentry",
			Note:  "the host's real routes of IPv4, until it is restarted; in containers ERROR_ACCESS_DENIED. The newer CreateIpForwardEntry2 is not exported by Wine's iphlpapi.dll",
		},
		{
			Name:  "CreateIpForwardEntry2",
			API:   []string{"iphlpapi.dll CreateIpForwardEntry2"},
			Level: support.Not,
			Ref:   win32 + "api/netioapi/nf-netioapi-createipforwardentry2",
			Note:  "Wine's iphlpapi.dll does not export it; CreateIpForwardEntry is there",
		},
	}
}
