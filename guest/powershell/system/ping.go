package system

import (
	"context"
	"net"
	"net/netip"

	"mullion.dev/mullion/guest/winnet"
)

// Ping is what a host is asked for by ICMP.
type Ping = winnet.Ping

// Echo is the answer to a ping.
type Echo = winnet.Echo

// EchoTimedOut is the status of a ping without an answer.
const EchoTimedOut = winnet.EchoTimedOut

// lookup returns the addresses of a host, by its name or an address.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i, a := range found {
		found[i] = a.Unmap()
	}
	return found, err
}
