package underlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/netns"
)

// tunnelPort is the bridge's port that leads to the other machines' bridges.
const tunnelPort = "machines"

// TunnelMTU is the MTU of nodes' interfaces where an underlay spans machines: an Ethernet's, less the 50 bytes of VXLAN
// over IPv4 (RFC 7348, section 5).
const TunnelMTU = 1450

// Tunnel says how the underlay spans machines: the bridges of all are joined by VXLAN, whose socket is in the machine's
// own network namespace. The zero value: one machine only.
type Tunnel struct {
	// Local is this machine's address to which the others send.
	Local netip.Addr
	// Port is the UDP port on all machines, VNI the network's number, the same on all.
	Port uint16
	VNI  uint32
}

func (t Tunnel) enabled() bool { return t.Local.IsValid() }

func (t Tunnel) check() error {
	switch {
	case !t.enabled():
		return nil
	case !t.Local.Is4() || t.Local.IsUnspecified() || t.Local.IsMulticast():
		return fmt.Errorf("underlay: %s is not an IPv4 address for other machines to send to", t.Local)
	case t.Port == 0 || t.VNI == 0 || t.VNI >= 1<<24:
		return fmt.Errorf("underlay: port %d, VNI %d: not those of a VXLAN", t.Port, t.VNI)
	}
	return nil
}

// tunnelLink returns the tunnel's name while it is on its way through the machine's namespace, unique as Link is.
func (u *Underlay) tunnelLink() string {
	return "vx" + u.cfg.Link[max(0, len(u.cfg.Link)-13):]
}

// ensureTunnel makes the tunnel's port on the bridge, unless it is there with the right settings. The link is made in
// the machine's namespace, where its socket stays, and then moved.
func (u *Underlay) ensureTunnel() error {
	if !u.cfg.Tunnel.enabled() {
		return nil
	}
	if err := u.removeStrandedTunnel(); err != nil {
		return err
	}

	whole := false
	err := netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		link, err := h.LinkByName(tunnelPort)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}

		if whole = u.sameTunnel(link); whole {
			return nil
		}
		return h.LinkDel(link)
	})
	if err != nil {
		return fmt.Errorf("look for the tunnel to other machines: %w", err)
	}

	if !whole {
		if err := u.makeTunnel(); err != nil {
			return fmt.Errorf("make the tunnel to other machines: %w", err)
		}
	}

	return netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error { return enslave(h, tunnelPort) })
}

func (u *Underlay) sameTunnel(link netlink.Link) bool {
	v, ok := link.(*netlink.Vxlan)
	t := u.cfg.Tunnel
	return ok && v.VxlanId == int(t.VNI) && v.Port == int(t.Port) && v.SrcAddr.Equal(t.Local.AsSlice())
}

func (u *Underlay) makeTunnel() error {
	fabric, err := os.Open(u.FabricNetns())
	if err != nil {
		return err
	}
	defer func() { _ = fabric.Close() }()

	t := u.cfg.Tunnel
	err = netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		err := h.LinkAdd(&netlink.Vxlan{
			// The bridge's own MTU: packets too large for the way between the machines are fragmented there, not lost.
			LinkAttrs: netlink.LinkAttrs{Name: u.tunnelLink(), MTU: 1500},
			VxlanId:   int(t.VNI),
			Port:      int(t.Port),
			SrcAddr:   t.Local.AsSlice(),
			Learning:  true,
		})
		if errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("UDP port %d with VNI %d is another cluster's: %w", t.Port, t.VNI, err)
		}

		if err != nil {
			return err
		}

		link, err := h.LinkByName(u.tunnelLink())
		if err != nil {
			return err
		}
		return h.LinkSetNsFd(link, int(fabric.Fd()))
	})
	if err != nil {
		return err
	}

	return netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.tunnelLink())
		if err != nil {
			return err
		}
		return h.LinkSetName(link, tunnelPort)
	})
}

// removeStrandedTunnel removes a tunnel that a crash left half made, in either network namespace.
func (u *Underlay) removeStrandedTunnel() error {
	var errs []error
	for _, path := range []string{u.cfg.MachineNetns, u.FabricNetns()} {
		there, err := netns.Exists(path)
		if err != nil || !there {
			errs = append(errs, err)
			continue
		}

		errs = append(errs, netns.Netlink(path, func(h *netlink.Handle) error {
			link, err := h.LinkByName(u.tunnelLink())
			if isNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return h.LinkDel(link)
		}))
	}

	return errors.Join(errs...)
}

// SetMachines makes these the other machines that the underlay spans: frames for hosts whose machine is not known yet
// go to all of them, and only they may send frames to this machine.
func (u *Underlay) SetMachines(ctx context.Context, machines []netip.Addr) error {
	if !u.cfg.Tunnel.enabled() {
		return errors.New("set the other machines: the underlay has one machine only")
	}
	machines = slices.Clone(machines)
	machines = slices.DeleteFunc(machines, func(a netip.Addr) bool { return !a.Is4() || a == u.cfg.Tunnel.Local })
	slices.SortFunc(machines, netip.Addr.Compare)
	machines = slices.Compact(machines)
	u.mu.Lock()
	defer u.mu.Unlock()

	if err := u.flood(machines); err != nil {
		return fmt.Errorf("set the other machines: %w", err)
	}
	if err := u.admit(ctx, machines); err != nil {
		return err
	}
	u.machines = machines
	return u.rememberTables(ctx)
}

// flood sets the tunnel's forwarding entries for the zero hardware address, by which frames without an entry of their
// own are sent. Learned entries of a machine that is no longer listed are removed.
func (u *Underlay) flood(machines []netip.Addr) error {
	return netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		link, err := h.LinkByName(tunnelPort)
		if err != nil {
			return err
		}
		index := link.Attrs().Index
		entries, err := h.NeighList(index, unix.AF_BRIDGE)
		if err != nil {
			return err
		}

		var have []netip.Addr
		var errs []error
		for _, e := range entries {
			to, ok := netip.AddrFromSlice(e.IP.To4())
			switch {
			case e.Flags&netlink.NTF_SELF == 0 || !ok:
			case !slices.Contains(machines, to):
				e.LinkIndex = index
				e.Family = unix.AF_BRIDGE
				e.Flags = netlink.NTF_SELF
				if err := h.NeighDel(&e); err != nil && !errors.Is(err, unix.ENOENT) {
					errs = append(errs, err)
				}

			case isZero(e.HardwareAddr):
				have = append(have, to)
			}
		}

		for _, m := range machines {
			if slices.Contains(have, m) {
				continue
			}

			errs = append(errs, h.NeighAppend(&netlink.Neigh{
				LinkIndex:    index,
				Family:       unix.AF_BRIDGE,
				State:        netlink.NUD_PERMANENT,
				Flags:        netlink.NTF_SELF,
				IP:           m.AsSlice(),
				HardwareAddr: make(net.HardwareAddr, 6),
			}))
		}

		return errors.Join(errs...)
	})
}

func isZero(a net.HardwareAddr) bool { return strings.Trim(a.String(), "0:") == "" }

// admit lets the tunnel's packets in from these machines.
func (u *Underlay) admit(ctx context.Context, machines []netip.Addr) error {
	err := netns.Do(u.cfg.MachineNetns, func() error {
		nft, err := knftables.New(knftables.IPv4Family, u.tableName())
		if err != nil {
			return err
		}
		tx := nft.NewTransaction()
		tx.Flush(&knftables.Set{Name: machinesSet, Type: "ipv4_addr"})
		for _, m := range machines {
			tx.Add(&knftables.Element{Set: machinesSet, Key: []string{m.String()}})
		}

		return nft.Run(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("let the other machines' packets in: %w", err)
	}

	return nil
}

// machinesSet is the set of the other machines in the nftables table.
const machinesSet = "machines"

// guardTunnel adds the rules that drop what strangers send to the tunnel, and what the machine's own nodes and pods
// send to the tunnels of other machines: those would take it for the machine's, which hides its nodes behind its
// address. The machine's own packets do not pass the forward chain. The set is empty until SetMachines.
func (u *Underlay) guardTunnel(tx *knftables.Transaction) {
	if !u.cfg.Tunnel.enabled() {
		return
	}

	tx.Add(&knftables.Set{Name: machinesSet, Type: "ipv4_addr"})
	tx.Add(&knftables.Chain{
		Name:     "input",
		Type:     knftables.PtrTo(knftables.FilterType),
		Hook:     knftables.PtrTo(knftables.InputHook),
		Priority: knftables.PtrTo(knftables.FilterPriority),
	})

	tx.Add(&knftables.Rule{Chain: "input", Rule: knftables.Concat(
		"udp dport", u.cfg.Tunnel.Port, "ip daddr", u.cfg.Tunnel.Local.String(), "ip saddr != @"+machinesSet, "drop")})
	// The cluster's machines send to Local only, so packets to another address are a stranger's.
	tx.Add(&knftables.Rule{Chain: "input", Rule: knftables.Concat(
		"udp dport", u.cfg.Tunnel.Port, "ip daddr !=", u.cfg.Tunnel.Local.String(), "drop")})
	tx.Add(&knftables.Rule{Chain: "forward", Rule: knftables.Concat(
		"udp dport", u.cfg.Tunnel.Port, "ip daddr @"+machinesSet, "drop")})
}

// mtu returns the MTU of nodes' interfaces.
func (u *Underlay) mtu() int {
	switch {
	case u.cfg.Tunnel.enabled():
		return TunnelMTU
	case u.cfg.LAN.MTU > 0:
		return min(u.cfg.LAN.MTU, 1500)
	}
	return 1500
}
