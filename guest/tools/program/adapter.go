package program

import (
	"net"
	"net/netip"
)

// Adapter is a network adapter.
type Adapter struct {
	// Index is the number of the interface.
	Index, MTU, Metric        uint32
	Name, Description, Suffix string
	Hardware                  net.HardwareAddr
	Loopback, Up, DHCP        bool
	Addresses                 []Address
	Gateways, Servers         []netip.Addr
}

// Address is an address of an adapter, and the length of its network's prefix.
type Address struct {
	IP   netip.Addr
	Bits int
}

// FirstSuffix returns the first DNS suffix that an adapter has, "" if none has one.
func FirstSuffix(adapters []Adapter) string {
	for _, a := range adapters {
		if a.Suffix != "" {
			return a.Suffix
		}
	}
	return ""
}
