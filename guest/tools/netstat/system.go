package netstat

import (
	"net"
	"net/netip"
	"strings"

	"mullion.dev/mullion/guest/tools/network"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winnet"
)

// System is what netstat needs of Windows.
type System interface {
	network.Routing
	Counters
	Names
	// Sockets are the sockets of TCP and UDP.
	Sockets() ([]winnet.Socket, error)
	// Images are the file names of the programs that run, by the numbers of their processes.
	Images() (map[uint32]string, error)
}

// Counters are the counters of the network.
type Counters interface {
	// Traffic is what the interfaces have received and sent, Protocols the counters of the protocols of a family.
	Traffic() (winnet.Traffic, error)
	Protocols(six bool) (winnet.Protocols, error)
}

// Names are those of hosts.
type Names interface {
	// HostName is the computer's name in DNS.
	HostName() string
	// Reverse is the name of an address, "" if it has none.
	Reverse(addr netip.Addr) string
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// HostName implements Names.
func (local) HostName() string { return program.HostName() }

// Adapters implements network.Routing.
func (local) Adapters() ([]program.Adapter, error) { return program.Adapters() }

// Routes implements network.Routing.
func (local) Routes() ([]winnet.Route, error) { return winnet.Routes() }

// Sockets implements System.
func (local) Sockets() ([]winnet.Socket, error) { return winnet.Sockets() }

// Traffic implements Counters.
func (local) Traffic() (winnet.Traffic, error) { return winnet.Count() }

// Protocols implements Counters.
func (local) Protocols(six bool) (winnet.Protocols, error) { return winnet.CountProtocols(six) }

// Reverse implements Names.
func (local) Reverse(addr netip.Addr) string {
	names, err := net.LookupAddr(addr.String())
	if err != nil || len(names) == 0 {
		return ""
	}
	return strings.TrimSuffix(names[0], ".")
}
