// Package local is the Windows Server on which mullion-agent runs: HNS, the firewall, lists of access, the container
// runtime's pods, and the facts for preflight. It decides nothing (packages winserver and preflight do). On other
// systems it has nothing to offer.
package local

import "errors"

// ErrSystem says that the program runs on no Windows.
var ErrSystem = errors.New("mullion-agent joins a Windows Server, and this is none")

// Asked is what a person says of a join that is to be checked.
type Asked struct {
	Name string
	// Runtime is the endpoint of the container runtime that is there; "" if the agent installs containerd.
	Runtime string
	// Server is the API server, host:port; "" if none is to be tried.
	Server string
}
