package credspec

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// Cached is a ticket in a container's credential cache.
type Cached struct {
	Client, ClientRealm, Server, ServerRealm string
	// Kind is the kind of the session's key (RFC 3961, 8), Flags the ticket's flags (RFC 4120, 2).
	Kind  int
	Flags uint32
	// Start, End and RenewTill are zero where the ticket does not say them.
	Start, End, RenewTill time.Time
}

// errCache says that a text is no credential cache.
var errCache = errors.New("read credential cache: it is none of version 4")

// ParseCache reads a credential cache of MIT's Kerberos, version 4
// (https://web.mit.edu/kerberos/krb5-1.20/doc/formats/ccache_file_format.html). Entries of the library's own are left out.
func ParseCache(data []byte) ([]Cached, error) {
	r := &reader{data: data}
	if r.number(2) != 0x0504 {
		return nil, errCache
	}

	r.bytes(int(r.number(2))) // the header
	r.principal()             // whose cache it is
	var all []Cached
	for !r.bad && len(r.data) > 0 {
		c := Cached{}
		c.Client, c.ClientRealm = r.principal()
		c.Server, c.ServerRealm = r.principal()
		c.Kind = int(r.number(2))
		r.text()
		r.number(4) // when it was got
		c.Start = r.time()
		c.End = r.time()
		c.RenewTill = r.time()
		r.number(1) // whether it is encrypted in another ticket's key
		c.Flags = uint32(r.number(4))

		for range 2 { // addresses and authorization data
			for n := r.number(4); n > 0 && !r.bad; n-- {
				r.number(2)
				r.text()
			}
		}

		r.text()
		r.text()
		if !r.bad && c.ServerRealm != "X-CACHECONF:" {
			all = append(all, c)
		}
	}

	if r.bad {
		return nil, errCache
	}

	return all, nil
}

// reader reads numbers and texts; bad says that there was less than they say.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.bad, r.data = true, nil
		return nil
	}
	head := r.data[:n]
	r.data = r.data[n:]
	return head
}

// number returns a number of so many bytes, the highest first; 0 after the end.
func (r *reader) number(bytes int) uint64 {
	var whole [8]byte
	copy(whole[8-bytes:], r.bytes(bytes))
	return binary.BigEndian.Uint64(whole[:])
}

func (r *reader) text() string { return string(r.bytes(int(min(r.number(4), 1<<30)))) } // it is bounded

func (r *reader) time() time.Time {
	if n := r.number(4); n != 0 {
		return time.Unix(int64(n), 0) // it has four bytes
	}
	return time.Time{}
}

func (r *reader) principal() (name, realm string) {
	r.number(4) // the kind of name
	n := r.number(4)
	realm = r.text()
	var parts []string
	for ; n > 0 && !r.bad; n-- {
		parts = append(parts, r.text())
	}
	return strings.Join(parts, "/"), realm
}
