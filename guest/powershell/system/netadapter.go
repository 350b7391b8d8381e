package system

import (
	"math"
	"net/netip"
	"time"
)

// Adapter is a network adapter with its addresses.
type Adapter struct {
	Name, Description, GUID string
	Index                   int64
	MAC                     []byte
	Up, Loopback            bool
	Speed                   uint64 // bits a second
	MTU                     int64
	Addrs                   []AdapterAddress
	DNS                     []netip.Addr // the servers that are asked
}

// AdapterAddress is an address of an adapter, with numbers as Windows has them.
type AdapterAddress struct {
	Addr             netip.Addr
	Bits             int64
	Prefix, Suffix   int64 // where prefix and suffix come from
	State            int64 // of duplicate detection
	Valid, Preferred time.Duration
}

// Infinite is the lifetime of an address that does not end.
const Infinite = time.Duration(math.MaxInt64)
