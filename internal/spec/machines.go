package spec

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// Several machines share one underlay: each has a part of it, a /24, in which addresses are given as on a single
// machine. Part 0 belongs to the control plane's machine. The IPv6 addresses of a dual-stack cluster have the same
// numbers (Address6), so they need no parts of their own.
const (
	partBits = 24
	partSize = 1 << (32 - partBits)
	maxParts = 256
)

// Join describes the cluster that a machine joined; it is not in cluster.yaml.
type Join struct {
	// Server is the API server's URL.
	Server string `json:"server"`
	// Part is the machine's part of the underlay, above 0.
	Part int `json:"part"`
	// Address is the address at which other machines reach this one.
	Address string `json:"address"`
	// Foreign is set where Mullion did not make the cluster; such a machine has no part.
	Foreign *Foreign `json:"foreign,omitempty"`
}

// SeveralMachines reports whether the cluster has, or may get, several machines.
func (c Cluster) SeveralMachines() bool { return c.Networking.AdvertiseAddress != "" }

// Part returns this machine's part of the underlay.
func (c Cluster) Part() int {
	if c.Join == nil {
		return 0
	}
	return c.Join.Part
}

// Address returns the address at which other machines reach this one; the zero Addr if there can be no others.
func (c Cluster) Address() netip.Addr {
	at := c.Networking.AdvertiseAddress
	if c.Join != nil {
		at = c.Join.Address
	}
	addr, _ := netip.ParseAddr(at)
	return addr
}

// AdvertisedServer returns the API server's URL for other machines.
func (n Networking) AdvertisedServer() string {
	return "https://" + net.JoinHostPort(n.AdvertiseAddress, strconv.Itoa(n.APIServerPort))
}

// Parts returns the number of machines for which the underlay has room.
func (n Networking) Parts() int { return min(1<<max(0, partBits-n.Underlay().Bits()), maxParts) }

// PartAddress returns the first address of a part of the underlay.
func (n Networking) PartAddress(part int) netip.Addr { return Nth(n.Underlay().Addr(), part*partSize) }

// machines checks the fields for several machines.
func (v *validator) machines(c Cluster) {
	if c.Foreign() {
		v.foreign(c)
		return
	}

	n := c.Networking
	at, err := netip.ParseAddr(n.AdvertiseAddress)
	switch {
	case n.AdvertiseAddress == "" && c.Join == nil:
		return
	case err != nil || !reachable(at):
		v.fail([]any{"networking", "advertiseAddress"},
			"%q is not an IPv4 address at which other machines reach this one", n.AdvertiseAddress)
	case n.Parts() < 2:
		v.fail([]any{"networking", "underlaySubnet"},
			"%s has room for one machine only; with advertiseAddress it has to be a /23 or larger, because each machine gets a /24 of it", n.UnderlaySubnet)
	}

	if c.Join == nil || len(v.errs) > 0 {
		return
	}
	if at, err := netip.ParseAddr(c.Join.Address); err != nil || !reachable(at) {
		v.fail([]any{"join", "address"}, "%q is not an IPv4 address at which other machines reach this one",
			c.Join.Address)
	}

	if c.Join.Part < 1 || c.Join.Part >= n.Parts() {
		v.fail([]any{"join", "part"}, "%d is not a part of the underlay %s, which has %d", c.Join.Part,
			n.UnderlaySubnet, n.Parts())
	}
}

func reachable(a netip.Addr) bool {
	return a.Is4() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// prefix returns the beginning of generated node names. On a machine that joined, it contains the machine's part, so
// that names differ between machines.
func (c Cluster) prefix(os string) string {
	name := Linux
	if os == Windows {
		name = "win"
	}
	if c.Join != nil && !c.Foreign() {
		return fmt.Sprintf("m%d-%s", c.Join.Part, name)
	}
	return name
}

// HostPort returns the host:port of an API server's URL.
func HostPort(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("read the API server's URL %q: %w", server, err)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443"), nil
	}
	return u.Host, nil
}
