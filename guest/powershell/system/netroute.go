package system

import "net/netip"

// Route is a route of Windows.
type Route struct {
	Index   int64  // of the interface
	Alias   string // its name, where it is known
	Prefix  netip.Prefix
	Hop     netip.Addr
	Metric  int64
	Publish bool
}
