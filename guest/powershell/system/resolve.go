package system

import "errors"

// DNSRecord is a record of DNS; values are what its type has beside the name.
type DNSRecord struct {
	Name    string
	Kind    uint16
	TTL     int64
	Section uint32 // as Windows numbers them
	Data    string // an address, a name or a text
	Numbers []int64
}

// ErrNoName and ErrNoRecords are the answers that a name is not there, and that it has no record of a type.
var (
	ErrNoName    = errors.New("DNS name does not exist")
	ErrNoRecords = errors.New("no records found for given DNS query")
)
