package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// guard says what containers do not reach: the machine itself, the clusters on it, and what tells the machine of a
// cloud its secrets. A socket of the machine would lead there, past every firewall.
type guard struct {
	// clusters begins the aliases of the machine's interfaces that lead to clusters.
	clusters string
}

// errGuarded is the error of an address that containers do not reach.
var errGuarded = errors.New("containers do not reach it")

// isCloudService says that an address is one that tells a machine of a cloud its secrets, beside most clouds'
// link-local one: Azure's WireServer
// (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16), the metadata of Alibaba Cloud,
// and that of Oracle Cloud's older machines. Azure's answers DNS too, and the gateway asks it for containers.
func isCloudService(to netip.Addr) bool {
	switch to {
	case netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),
		netip.AddrFrom4([4]byte{192, 0, 0, 192}):
		return true
	}
	return false
}

// check returns an error for an address that containers do not reach. It asks the kernel which way a packet would take
// now, so that what the machine gets later is guarded too.
func (g guard) check(to netip.Addr) error {
	switch {
	case !to.Is4(), to.IsUnspecified(), to.IsLoopback(), to.IsMulticast(), to.IsLinkLocalUnicast(),
		to.AsSlice()[0] == 0,
		isCloudService(to):
		return fmt.Errorf("%s: %w", to, errGuarded)
	}

	routes, err := netlink.RouteGet(to.AsSlice())
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}

	for _, r := range routes {
		if r.Type != unix.RTN_UNICAST {
			return fmt.Errorf("%s: %w", to, errGuarded)
		}
		link, err := netlink.LinkByIndex(r.LinkIndex)
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}

		if strings.HasPrefix(link.Attrs().Alias, g.clusters) {
			return fmt.Errorf("%s: %w", to, errGuarded)
		}
	}

	return nil
}
