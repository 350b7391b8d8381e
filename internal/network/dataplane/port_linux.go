package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// portSpec is all that a port's interface is made of.
type portSpec struct {
	netplan.Port
	bridge netplan.Bridge
	mtu    int
}

// alias marks the interface once all of it is made, with a hash of what was made.
func (s *portSpec) alias() string {
	sum := hash(fmt.Sprint(s.Bridge, s.Namespace, s.Name, s.MAC, s.Addrs, s.Routes, s.EgressBPS, s.Proxies,
		s.bridge.Mode, bridgeMAC(s.bridge), s.mtu, s.podACL()))
	return fmt.Sprintf("%s%s %s %016x", aliasPort, s.ID, s.Bridge, sum)
}

// podACL returns the access rules that hold inside the pod's namespace: where its packets do not pass the host's.
func (s *portSpec) podACL() []netplan.ACL {
	if s.bridge.Mode == netplan.Transparent {
		return s.ACL
	}
	return nil
}

// ensurePort makes a pod's interface, or repairs it. An interface whose alias says that it is whole is checked only if
// deep.
func (p *space) ensurePort(ctx context.Context, h *netlink.Handle, port netplan.Port, want *state, deep bool) error {
	b, ok := want.bridges[port.Bridge]
	if !ok {
		return fmt.Errorf("no network %q", port.Bridge)
	}
	s := &portSpec{
		Port:   port,
		bridge: b,
		mtu:    p.podMTU(h, b, port),
	}

	if b.Mode == netplan.Transparent {
		return p.ensureMacvlanPort(ctx, h, s, deep)
	}

	near, err := lookup(h, portLink(port.ID))
	if err != nil {
		return err
	}
	if near != nil && near.Attrs().Alias == s.alias() && !deep {
		return nil
	}

	if err := p.attach(h, s); err != nil {
		return err
	}
	if err := p.ensurePodRules(ctx, s); err != nil {
		return err
	}

	link, err := h.LinkByName(portLink(port.ID))
	if err != nil {
		return err
	}

	return h.LinkSetAlias(link, s.alias())
}

// attach makes the pair and connects it to the switch.
func (p *space) attach(h *netlink.Handle, s *portSpec) error {
	pin := p.pin(s.Namespace)
	if err := p.ensureVeth(h, s, pin); err != nil {
		return err
	}
	link, err := h.LinkByName(portLink(s.ID))
	if err != nil {
		return err
	}

	bridge, err := h.LinkByName(bridgeLink(s.Bridge))
	if err != nil {
		return err
	}
	if err := h.LinkSetMaster(link, bridge); err != nil {
		return err
	}

	if err := h.LinkSetIsolated(link, true); err != nil {
		return fmt.Errorf("isolate port: %w", err)
	}
	if err := fixPlace(h, link, bridge, s); err != nil {
		return err
	}

	if link.Attrs().MTU != s.mtu {
		if err := h.LinkSetMTU(link, s.mtu); err != nil {
			return fmt.Errorf("set MTU %d: %w", s.mtu, err)
		}
	}
	if err := h.LinkSetUp(link); err != nil {
		return err
	}

	return netns.Netlink(pin, func(pod *netlink.Handle) error { return configure(pod, s) })
}

// fixPlace says where the port's hardware address is, and whose the port's addresses are, so that neither is learned
// from frames: what another pod sends does not change it.
func fixPlace(h *netlink.Handle, link, bridge netlink.Link, s *portSpec) error {
	if err := h.LinkSetLearning(link, false); err != nil {
		return fmt.Errorf("switch learning off: %w", err)
	}

	place := &netlink.Neigh{
		LinkIndex:    link.Attrs().Index,
		Family:       unix.AF_BRIDGE,
		State:        netlink.NUD_NOARP,
		Flags:        netlink.NTF_MASTER,
		HardwareAddr: mustMAC(s.MAC),
	}

	if err := h.NeighSet(place); err != nil {
		return fmt.Errorf("set the port of %s: %w", s.MAC, err)
	}

	for _, a := range s.Addrs {
		n := &netlink.Neigh{
			LinkIndex:    bridge.Attrs().Index,
			State:        netlink.NUD_PERMANENT,
			IP:           a.Addr().AsSlice(),
			HardwareAddr: mustMAC(s.MAC),
		}
		if err := h.NeighSet(n); err != nil {
			return fmt.Errorf("set neighbour %s: %w", a.Addr(), err)
		}
	}

	return nil
}

// forgetPlace removes what fixPlace has said on the switch; the rest went with the port.
func forgetPlace(h *netlink.Handle, port netplan.Port) error {
	bridge, err := lookup(h, bridgeLink(port.Bridge))
	if err != nil || bridge == nil {
		return err
	}
	for _, a := range port.Addrs {
		n := &netlink.Neigh{LinkIndex: bridge.Attrs().Index, IP: a.Addr().AsSlice()}
		if err := h.NeighDel(n); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove neighbour %s: %w", a.Addr(), err)
		}
	}
	return nil
}

// ensureVeth makes the pair, unless both ends are there. An end without the other belongs to a namespace that is gone.
func (p *space) ensureVeth(h *netlink.Handle, s *portSpec, pin string) error {
	ns, err := os.Open(pin)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()

	return netns.Netlink(pin, func(pod *netlink.Handle) error {
		near, err := lookup(h, portLink(s.ID))
		if err != nil {
			return err
		}

		far, err := lookup(pod, s.Name)
		if err != nil {
			return err
		}
		if near != nil && far != nil && far.Attrs().ParentIndex == near.Attrs().Index {
			return nil
		}

		if near != nil {
			if err := h.LinkDel(near); err != nil {
				return err
			}
		}
		if err := dropLink(pod, s.Name); err != nil {
			return err
		}

		return h.LinkAdd(&netlink.Veth{
			LinkAttrs:        netlink.LinkAttrs{Name: portLink(s.ID), MTU: s.mtu},
			PeerName:         s.Name,
			PeerNamespace:    netlink.NsFd(int(ns.Fd())),
			PeerHardwareAddr: mustMAC(s.MAC),
			PeerMTU:          uint32(s.mtu),
		})
	})
}

// dropLink removes the link of that name, if there is one.
func dropLink(h *netlink.Handle, name string) error {
	link, err := lookup(h, name)
	if err != nil || link == nil {
		return err
	}
	return removeLink(h, link)
}

// removePort removes a pod's interface.
func (p *space) removePort(h *netlink.Handle, port netplan.Port) error {
	if err := dropLink(h, portLink(port.ID)); err != nil {
		return err
	}
	if err := forgetPlace(h, port); err != nil {
		return err
	}
	if there, err := netns.Exists(p.pin(port.Namespace)); err != nil || !there {
		return err
	}

	return netns.Netlink(p.pin(port.Namespace), func(pod *netlink.Handle) error {
		link, err := lookup(pod, port.Name)
		if err != nil || link == nil || portID(link.Attrs().Alias) != port.ID {
			return err
		}
		return removeLink(pod, link)
	})
}

// configure sets up the pod's end.
func configure(pod *netlink.Handle, s *portSpec) error {
	link, err := pod.LinkByName(s.Name)
	if err != nil {
		return err
	}

	mac, err := net.ParseMAC(s.MAC)
	if err != nil {
		return err
	}
	if link.Attrs().HardwareAddr.String() != mac.String() {
		if err := pod.LinkSetHardwareAddr(link, mac); err != nil {
			return err
		}
	}

	if link.Attrs().MTU != s.mtu {
		if err := pod.LinkSetMTU(link, s.mtu); err != nil {
			return fmt.Errorf("set MTU %d: %w", s.mtu, err)
		}
	}

	if err := syncAddrs(pod, link, podAddrs(s)); err != nil {
		return err
	}
	if err := pod.LinkSetUp(link); err != nil {
		return err
	}
	if err := syncNeighbours(pod, link, s); err != nil {
		return err
	}

	if err := syncRoutes(pod, link, s.Routes); err != nil {
		return err
	}
	if err := limitEgress(pod, link, s.EgressBPS); err != nil {
		return fmt.Errorf("limit to %d bit/s: %w", s.EgressBPS, err)
	}

	return pod.LinkSetAlias(link, s.alias())
}

// A bucket has room for 10 ms of its rate, at least for two of the largest packets that a veth pair carries, and a
// packet waits at most 50 ms.
const (
	bucketFraction = 100
	bucketMin      = 2 * 65536
	waitFraction   = 20
)

// limitEgress holds back what the pod sends beyond its rate, as Windows' QOS policy does (it queues; it does not drop
// at once). The queue is at the pod's end, which programs in a pod may not change.
func limitEgress(pod *netlink.Handle, link netlink.Link, bps uint64) error {
	list, err := pod.QdiscList(link)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(q netlink.Qdisc) bool {
		return q.Type() == "tbf" &&
			q.Attrs().Parent == netlink.HANDLE_ROOT
	})

	if bps == 0 {
		if i < 0 {
			return nil
		}
		return pod.QdiscDel(list[i])
	}

	want := egressQueue(link.Attrs().Index, bps)
	if i >= 0 {
		if have, ok := list[i].(*netlink.Tbf); ok && have.Rate == want.Rate {
			return nil
		}
	}

	return pod.QdiscReplace(want)
}

func egressQueue(index int, bps uint64) *netlink.Tbf {
	rate := max(bps/8, 1)
	bucket := uint32(min(max(rate/bucketFraction, bucketMin), 1<<30))
	return &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: index,
			Handle:    netlink.MakeHandle(1, 0),
			Parent:    netlink.HANDLE_ROOT,
		},
		Rate:   rate,
		Limit:  uint32(min(rate/waitFraction, 1<<30)) + bucket,
		Buffer: netlink.Xmittime(rate, bucket),
	}
}

// newMacvlan returns an interface on the underlay itself: the host's, to reach the pods of a Transparent network. The
// uplink and its addresses stay as they are; the two do not reach each other otherwise.
func (p *space) newMacvlan(h *netlink.Handle, b netplan.Bridge, attrs netlink.LinkAttrs) (*netlink.Macvlan, error) {
	parent, err := h.LinkByName(p.parentName(b))
	if err != nil {
		return nil, fmt.Errorf("uplink %q: %w", p.parentName(b), err)
	}
	attrs.ParentIndex = parent.Attrs().Index
	return &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}, nil
}

// ensureMacvlanPort makes the interface of a pod that is on the underlay itself.
func (p *space) ensureMacvlanPort(ctx context.Context, h *netlink.Handle, s *portSpec, deep bool) error {
	if err := dropLink(h, portLink(s.ID)); err != nil { // left from another mode of the network
		return err
	}
	ns, err := os.Open(p.pin(s.Namespace))
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()

	link, err := p.newMacvlan(h, s.bridge, netlink.LinkAttrs{
		Name:         s.Name,
		MTU:          s.mtu,
		HardwareAddr: mustMAC(s.MAC),
		Namespace:    netlink.NsFd(int(ns.Fd())),
	})
	if err != nil {
		return err
	}

	err = netns.Netlink(p.pin(s.Namespace), func(pod *netlink.Handle) error {
		have, err := lookup(pod, s.Name)
		if err != nil {
			return err
		}

		right := have != nil && have.Type() == "macvlan" && have.Attrs().ParentIndex == link.ParentIndex
		if right && have.Attrs().Alias == s.alias() && !deep {
			return nil
		}
		if right {
			return configure(pod, s)
		}

		if err := dropLink(pod, s.Name); err != nil {
			return err
		}
		if err := h.LinkAdd(link); err != nil {
			return err
		}

		return configure(pod, s)
	})
	if err != nil {
		return err
	}
	if err := p.ensurePodRules(ctx, s); err != nil {
		return err
	}

	return p.routeToPod(h, s)
}

// routeToPod makes the host's route to a pod on the underlay; none with a VLAN tag, as the host is not in that VLAN.
func (p *space) routeToPod(h *netlink.Handle, s *portSpec) error {
	if s.bridge.VLAN != 0 {
		return nil
	}
	link, err := h.LinkByName(bridgeLink(s.Bridge))
	if err != nil {
		return err
	}

	for _, a := range s.Addrs {
		r := &netlink.Route{
			LinkIndex: link.Attrs().Index,
			Dst:       ipnet.Of(netip.PrefixFrom(a.Addr(), a.Addr().BitLen())),
			Scope:     netlink.SCOPE_LINK,
			Protocol:  routeProtocol,
		}
		if err := h.RouteReplace(r); err != nil {
			return fmt.Errorf("set route to %s: %w", a.Addr(), err)
		}
	}

	return nil
}

// Stats reads a port's counters, as the pod sees them.
func (p *Plane) Stats(_ context.Context, port string) (netplan.Stats, error) {
	p.mu.Lock()
	on := p.host
	if network := p.apart[p.homes[member{netplan.Ports, port}]]; network != nil {
		on = network.space
	}
	var at netplan.Port
	if on.want != nil {
		at = on.want.ports[port]
	}

	p.mu.Unlock()
	var st netplan.Stats
	err := netns.Netlink(on.cfg.Netns, func(h *netlink.Handle) error {
		near, err := lookup(h, portLink(port))
		if err != nil {
			return err
		}

		if near != nil { // what the host's end sent, the pod received
			st, err = counters(near)
			st.RxBytes, st.TxBytes = st.TxBytes, st.RxBytes
			st.RxPackets, st.TxPackets = st.TxPackets, st.RxPackets
			st.RxDropped, st.TxDropped = st.TxDropped, st.RxDropped
			return err
		}

		if at.ID == "" {
			return errors.New("no such port")
		}

		return netns.Netlink(p.Pin(at.Namespace), func(pod *netlink.Handle) error {
			link, err := pod.LinkByName(at.Name)
			if err == nil {
				st, err = counters(link)
			}
			return err
		})
	})
	if err != nil {
		return st, fmt.Errorf("read statistics of endpoint %s: %w", port, err)
	}

	return st, nil
}

func counters(link netlink.Link) (netplan.Stats, error) {
	s := link.Attrs().Statistics
	if s == nil {
		return netplan.Stats{}, errors.New("the kernel gave no statistics")
	}

	return netplan.Stats{
		RxBytes:   s.RxBytes,
		TxBytes:   s.TxBytes,
		RxPackets: s.RxPackets,
		TxPackets: s.TxPackets,
		RxDropped: s.RxDropped,
		TxDropped: s.TxDropped,
	}, nil
}

// removeStrayPorts removes from a pod's namespace interfaces that were made here and are not wanted.
func (p *space) removeStrayPorts(id string, want *state) error {
	return netns.Netlink(p.pin(id), func(pod *netlink.Handle) error {
		links, err := pod.LinkList()
		if err != nil {
			return err
		}

		for _, l := range links {
			port := portID(l.Attrs().Alias)
			if wanted := want.ports[port]; port == "" || !p.place.owns(portBridge(l.Attrs().Alias)) ||
				(wanted.Namespace == id && wanted.Name == l.Attrs().Name) {
				continue
			}
			if err := removeLink(pod, l); err != nil && !errors.Is(err, unix.ENODEV) {
				return err
			}
		}

		return nil
	})
}
