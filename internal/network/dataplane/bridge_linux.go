package dataplane

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// parentName returns the interface that the network goes through: its uplink, or the uplink's interface for its VLAN.
func (p *space) parentName(b netplan.Bridge) string {
	if b.VLAN != 0 {
		return vlanLink(p.uplink(b), b.VLAN)
	}
	return p.uplink(b)
}

func (p *space) uplink(b netplan.Bridge) string { return p.place.uplink(b) }

func vlanLink(uplink string, tag uint16) string {
	return fmt.Sprintf("%s%08x", vlanPrefix, uint32(hash(fmt.Sprint(uplink, " ", tag))))
}

// mtu returns the largest packet on the network: the uplink's, less what an overlay adds.
func (p *space) mtu(h *netlink.Handle, b netplan.Bridge) int {
	mtu := 1500
	if link, err := lookup(h, p.uplink(b)); err == nil && link != nil {
		mtu = link.Attrs().MTU
	}
	if b.Mode == netplan.Overlay {
		mtu -= encapOverhead
	}
	return mtu
}

// podMTU returns the size of a pod's largest packet: the uplink's, less the overhead in the port's policy; in an
// overlay, less VXLAN's overhead if that is larger.
func (p *space) podMTU(h *netlink.Handle, b netplan.Bridge, port netplan.Port) int {
	mtu := p.mtu(h, b)
	if b.Mode == netplan.Overlay {
		mtu += encapOverhead
	}
	overhead := int(port.EncapOverhead)
	if b.Mode == netplan.Overlay {
		overhead = max(overhead, encapOverhead) // a larger packet would not leave the host
	}
	return max(mtu-overhead, mtuMin)
}

// mtuMin is the least that IPv4 asks of a link (RFC 791).
const mtuMin = 68

// inHost runs f in the host's namespace.
func (p *space) inHost(f func() error) error { return netns.Do(p.cfg.Netns, f) }

// ensureBridge makes a network's switch with all that belongs to it but peers, or repairs it.
func (p *space) ensureBridge(h *netlink.Handle, b netplan.Bridge) error {
	if b.VLAN != 0 {
		if err := p.ensureVLAN(h, p.uplink(b), b.VLAN); err != nil {
			return fmt.Errorf("tag %d on %q: %w", b.VLAN, p.uplink(b), err)
		}
	}

	link, err := p.ensureSwitch(h, b)
	if err != nil {
		return err
	}
	if want := bridgeMAC(b); want.String() != link.Attrs().HardwareAddr.String() {
		if err := h.LinkSetHardwareAddr(link, want); err != nil {
			return err
		}
	}

	if mtu := p.mtu(h, b); mtu != link.Attrs().MTU {
		if err := h.LinkSetMTU(link, mtu); err != nil {
			return fmt.Errorf("set MTU %d: %w", mtu, err)
		}
	}
	if err := syncAddrs(h, link, switchAddrs(b)); err != nil {
		return err
	}

	if err := setUp(h, link); err != nil {
		return err
	}

	if b.Mode == netplan.Overlay {
		if err := p.ensureVXLAN(h, b); err != nil {
			return err
		}
	}
	if err := p.syncGateway(h, b); err != nil {
		return err
	}

	return p.syncPolicyRoutes(h, b)
}

// ensureSwitch makes the switch's interface in the host, and marks it with its alias last.
func (p *space) ensureSwitch(h *netlink.Handle, b netplan.Bridge) (netlink.Link, error) {
	link, err := lookup(h, bridgeLink(b.ID))
	if err != nil {
		return nil, err
	}
	made, err := p.newSwitch(h, b)
	if err != nil {
		return nil, err
	}

	alias := bridgeAlias(b)
	if link != nil && link.Attrs().Alias == alias && link.Type() == made.Type() {
		return link, nil
	}
	if link != nil { // a crash left it without alias, or the network is another now
		if err := h.LinkDel(link); err != nil {
			return nil, err
		}
	}

	if err := h.LinkAdd(made); err != nil {
		return nil, err
	}
	if link, err = h.LinkByName(bridgeLink(b.ID)); err != nil {
		return nil, err
	}
	if err := p.inHost(func() error { return modeSysctls(link.Attrs().Name, b.Mode) }); err != nil {
		return nil, err
	}

	return link, h.LinkSetAlias(link, alias)
}

func (p *space) newSwitch(h *netlink.Handle, b netplan.Bridge) (netlink.Link, error) {
	attrs := netlink.LinkAttrs{Name: bridgeLink(b.ID), HardwareAddr: bridgeMAC(b)}
	if b.Mode == netplan.Transparent {
		return p.newMacvlan(h, b, attrs)
	}
	off := false
	return &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &off}, nil
}

func modeSysctls(name string, mode netplan.Mode) error {
	conf := "net/ipv4/conf/" + name
	switch mode {
	case netplan.Transparent: // pods answer for themselves, and to the underlay the uplink answers for the host
		return sysctls([][2]string{{conf + "/arp_filter", "1"}, {conf + "/rp_filter", "0"}})
	case netplan.WinNAT: // the host reaches mapped ports also from 127.0.0.1
		return errors.Join(switchSysctls(name), sysctls([][2]string{{conf + "/route_localnet", "1"}}))
	default:
		return switchSysctls(name)
	}
}

// switchSysctls make the host answer ARP requests without delay: for every pod of the subnet, because ports are
// isolated from each other, and for every address that it routes elsewhere.
func switchSysctls(name string) error {
	err := sysctls([][2]string{
		{"net/ipv4/conf/" + name + "/proxy_arp_pvlan", "1"},
		{"net/ipv4/conf/" + name + "/proxy_arp", "1"},
		{"net/ipv4/conf/" + name + "/send_redirects", "0"},
		{"net/ipv4/conf/" + name + "/rp_filter", "0"},
		{"net/ipv4/conf/" + name + "/forwarding", "1"},
		{"net/ipv4/conf/" + name + "/promote_secondaries", "1"},
		{"net/ipv4/neigh/" + name + "/proxy_delay", "0"},
	})
	return errors.Join(err, sysctls6(name))
}

// bridgeMAC returns the bridge's address: a fixed one, as the kernel would change its own with the ports.
func bridgeMAC(b netplan.Bridge) net.HardwareAddr {
	if mac, err := net.ParseMAC(b.MAC); err == nil {
		return mac
	}
	x := hash(b.ID)
	return net.HardwareAddr{0x00, 0x15, 0x5d, byte(x >> 16), byte(x >> 8), byte(x)}
}

func setUp(h *netlink.Handle, link netlink.Link) error {
	if link.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	return h.LinkSetUp(link)
}

// removeBridge removes what belongs to a network that is no longer wanted.
func (p *space) removeBridge(h *netlink.Handle, id string, want *state) error {
	if err := errors.Join(p.closeGateway(id), p.dropPolicyRoutes(h, id)); err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, b := range want.bridges {
		keep[p.parentName(b)] = true
	}

	links, err := h.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}

	var errs []error
	for _, l := range links {
		name := l.Attrs().Name
		switch {
		case strings.HasPrefix(l.Attrs().Alias, aliasVLAN) && !keep[name]:
			errs = append(errs, removeTag(h, l))
		case name == bridgeLink(id) || name == vxlanLink(id):
			errs = append(errs, removeLink(h, l))
		}
	}

	return errors.Join(errs...)
}

func removeLink(h *netlink.Handle, l netlink.Link) error {
	if err := h.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("remove link %q: %w", l.Attrs().Name, err)
	}
	return nil
}

// removeStrangers removes links that this package made and that are not in want, including those that a crash left half
// made.
func (p *space) removeStrangers(h *netlink.Handle, want *state) error {
	keep := map[string]bool{}
	for _, b := range want.bridges {
		keep[bridgeLink(b.ID)] = true
		keep[vxlanLink(b.ID)] = b.Mode == netplan.Overlay
		keep[p.parentName(b)] = true
	}

	for id := range want.ports {
		keep[portLink(id)] = true
	}

	for id := range p.place.waysOut() {
		keep[apartLink(id)] = true
	}

	links, err := h.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}

	var errs []error
	for _, l := range links {
		if a := l.Attrs(); !keep[a.Name] && (ours(a.Alias) || (a.Alias == "" && halfMade(l))) {
			errs = append(errs, removeTag(h, l)) // removes l, tag or not
		}
	}

	errs = append(errs, p.removePolicyRoutes(h, want))
	return errors.Join(errs...)
}

func ours(alias string) bool {
	made := []string{aliasBridge, aliasPort, aliasVXLAN, aliasVLAN, aliasApart}
	return slices.ContainsFunc(made, func(prefix string) bool { return strings.HasPrefix(alias, prefix) })
}

func halfMade(l netlink.Link) bool {
	prefix := map[string][]string{
		"bridge": {bridgePrefix}, "macvlan": {bridgePrefix, portPrefix}, "veth": {portPrefix, vlanPrefix, apartPrefix},
		"vxlan": {vxlanPrefix},
	}[l.Type()]
	return slices.ContainsFunc(prefix, func(prefix string) bool { return strings.HasPrefix(l.Attrs().Name, prefix) })
}
