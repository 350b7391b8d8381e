package system

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// Ping is what a host is asked for by ICMP: so many bytes, which so many routers pass on, and how long the answer may
// take.
type Ping struct {
	Size, TTL int
	Patience  time.Duration
}

// Echo is the answer to a ping.
type Echo struct {
	// Status is how it went, 0 for an answer
	// (https://learn.microsoft.com/en-us/windows/win32/api/ipexport/ns-ipexport-icmp_echo_reply).
	Status uint32
	Took   time.Duration
	TTL    int // how many more routers would have passed the answer on
}

// EchoTimedOut is the status of a ping without an answer.
const EchoTimedOut = 11010

// lookup returns the addresses of a host, by its name or an address.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i, a := range found {
		found[i] = a.Unmap()
	}
	return found, err
}
