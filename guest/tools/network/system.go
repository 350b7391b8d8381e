// Package network owns the small programs that show or set what the network is: getmac, hostname, ipconfig, netsh,
// route and tracert.
package network

import (
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/winnet"
)

// Routing is what there is to print with the routes of a system.
type Routing interface {
	// Adapters are the adapters, the loopback among them. The error may be the number of a Windows error.
	Adapters() ([]program.Adapter, error)
	// Routes are the routes of both families.
	Routes() ([]winnet.Route, error)
}

// System is what the programs need of Windows.
type System interface {
	Routing
	// Forwards reports whether interfaces pass on packets that are not the system's own.
	Forwards() (bool, error)
	// HostName is the computer's name in DNS.
	HostName() string
	// Reservations are the users for whom URLs are reserved with HTTP.sys, by URL.
	Reservations() (map[string]string, error)
	// Reserve reserves a URL for a user; "" takes the reservation away.
	Reserve(url, user string) error
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// HostName implements System.
func (local) HostName() string { return program.HostName() }

// Adapters implements Routing.
func (local) Adapters() ([]program.Adapter, error) { return program.Adapters() }

// Routes implements Routing.
func (local) Routes() ([]winnet.Route, error) { return winnet.Routes() }

// Forwards implements System.
func (local) Forwards() (bool, error) { return winnet.Forwards() }
