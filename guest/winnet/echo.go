package winnet

import (
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
	// From is who answered: the host, or a router that did not pass the ping on.
	From netip.Addr
	// Status is how it went, 0 for an answer of the host
	// (https://learn.microsoft.com/en-us/windows/win32/api/ipexport/ns-ipexport-icmp_echo_reply).
	Status uint32
	Took   time.Duration
	TTL    int // how many more routers would have passed the answer on
}

// The statuses of a ping without an answer, and of one that a router has answered because it may not go further.
const (
	EchoTimedOut   = 11010
	EchoTTLExpired = 11013
)
