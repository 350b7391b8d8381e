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

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/spec"
)

// forwardKey is the forwarding switch. Whenever it is turned the kernel sets redirectsKey to its opposite
// (https://docs.kernel.org/networking/ip-sysctl.html, ip_forward), whatever an administrator had there: turned on and
// off again it would leave a machine that takes ICMP redirects, which hardened ones refuse.
const (
	forwardKey   = "net/ipv4/ip_forward"
	redirectsKey = "net/ipv4/conf/all/accept_redirects"
)

// former is what the machine had before the cluster was up: "<ip_forward>/<accept_redirects>".
type former string

// lookAtSwitches returns what the network namespace that it is called in has.
func lookAtSwitches() (former, error) {
	forward, err := os.ReadFile("/proc/sys/" + forwardKey)
	if err != nil {
		return "", err
	}
	redirects, err := os.ReadFile("/proc/sys/" + redirectsKey)
	return former(strings.TrimSpace(string(forward)) + "/" + strings.TrimSpace(string(redirects))), err
}

// router reports whether the machine forwarded.
func (f former) router() bool {
	forward, _, _ := strings.Cut(string(f), "/")
	return forward != "0"
}

// putBack sets the switches of the network namespace that it is called in, if the machine did not forward.
func (f former) putBack() error {
	forward, redirects, both := strings.Cut(string(f), "/")
	if _, err := netns.Sysctl(forwardKey, forward); err != nil || !both || f.router() {
		return err
	}
	_, err := netns.Sysctl(redirectsKey, redirects)
	return err
}

// The machine's end of the link carries in its alias the owner's run folder and the former switches. An alias lives
// exactly as long as the link, also over kill -9.
const aliasPrefix = "mullion ip_forward="

func aliasOf(was former, owner string) string { return aliasPrefix + string(was) + " " + owner }

// parseAlias splits an alias into the former switches and the owner's run folder.
func parseAlias(alias string) (was former, owner string, ok bool) {
	rest, ok := strings.CutPrefix(alias, aliasPrefix)
	if !ok {
		return "", "", false
	}
	switches, owner, ok := strings.Cut(rest, " ")
	return former(switches), owner, ok
}

// Owner returns the run folder of the cluster that made a link of this machine; it has none if it is no link of a
// cluster's underlay.
func Owner(link string) (run string, ok bool) {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return "", false
	}
	_, run, ok = parseAlias(l.Attrs().Alias)
	return run, ok
}

// checkSubnet looks for a route of the machine that leads into the subnet over another link.
func (u *Underlay) checkSubnet() error {
	if u.cfg.LAN.enabled() {
		return nil
	}
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		routes, err := h.RouteList(nil, netlink.FAMILY_ALL)
		if err != nil {
			return fmt.Errorf("list the machine's routes: %w", err)
		}
		for _, r := range routes {
			dst, ok := ipnet.Prefix(r.Dst)
			if !ok || dst.Bits() == 0 || !dst.Overlaps(u.cfg.Subnet) && !dst.Overlaps(u.cfg.Subnet6) {
				continue
			}
			link, err := h.LinkByIndex(r.LinkIndex)
			if err == nil && link.Attrs().Name != u.cfg.Link {
				return fmt.Errorf("use underlay subnet %s: %w: %s is reached over %q; choose another subnet",
					spec.JoinSubnets(u.cfg.Subnet, u.cfg.Subnet6), ErrSubnetTaken, dst, link.Attrs().Name)
			}
		}
		return nil
	})
}

// ensureMachineLink makes the pair between the machine and the bridge. It is made and marked inside the fabric and only
// then moved out, so that a crash never leaves an unmarked interface on the machine.
func (u *Underlay) ensureMachineLink() error {
	before, whole, err := u.machineLink()
	if err != nil {
		return err
	}
	if !whole {
		if err := u.makeMachineLink(before); err != nil {
			return err
		}
	}
	if err := netns.Netlink(u.FabricNetns(),
		func(h *netlink.Handle) error { return enslave(h, machinePort) }); err != nil {
		return err
	}
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if err != nil {
			return err
		}
		if u.cfg.LAN.enabled() { // another interface has the address too, and the subnet is reached over it
			return errors.Join(h.AddrReplace(link, &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(u.cfg.Machine, 32))}),
				h.LinkSetUp(link))
		}
		return u.ensureUp(h, link, u.cfg.Machine)
	})
}

// machineLink looks at the machine's end. It returns the switches to remember and whether the pair is whole;
// an end of ours without its other end is removed.
func (u *Underlay) machineLink() (before former, whole bool, err error) {
	var port bool
	err = netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		_, err := h.LinkByName(machinePort)
		port = err == nil
		if isNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return "", false, err
	}
	err = netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		was, owner, ok := parseAlias(link.Attrs().Alias)
		if !ok || owner != u.cfg.RunDir {
			return fmt.Errorf("%w by something else (alias %q); choose another name", ErrLinkTaken, link.Attrs().Alias)
		}
		if before = was; port {
			whole = true
			return nil
		}
		return h.LinkDel(link)
	})
	if err != nil || before != "" {
		return before, whole, err
	}
	err = netns.Do(u.cfg.MachineNetns, func() (err error) {
		before, err = lookAtSwitches()
		return err
	})
	return before, false, err
}

func (u *Underlay) makeMachineLink(before former) error {
	machine, err := u.openMachine()
	if err != nil {
		return err
	}
	defer func() { _ = machine.Close() }()
	return netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		for _, name := range []string{machinePort, u.cfg.Link} { // halves that a crash left here
			if link, err := h.LinkByName(name); err == nil {
				if err := h.LinkDel(link); err != nil {
					return err
				}
			}
		}
		veth := &netlink.Veth{
			LinkAttrs:        netlink.LinkAttrs{Name: machinePort},
			PeerName:         u.cfg.Link,
			PeerHardwareAddr: macOf(u.cfg.Machine),
		}
		if err := h.LinkAdd(veth); err != nil {
			return err
		}
		peer, err := h.LinkByName(u.cfg.Link)
		if err != nil {
			return err
		}
		if err := h.LinkSetAlias(peer, aliasOf(before, u.cfg.RunDir)); err != nil {
			return err
		}
		if err := h.LinkSetNsFd(peer, int(machine.Fd())); err != nil {
			return fmt.Errorf("move it to the machine: %w", err)
		}
		return nil
	})
}

// openMachine opens the machine's network namespace. netns.Self is the main thread's, whatever thread openMachine runs
// on.
func (u *Underlay) openMachine() (*os.File, error) { return os.Open(u.cfg.MachineNetns) }

func (u *Underlay) tableName() string { return "mullion_" + strings.ReplaceAll(u.cfg.Link, "-", "_") }

func (u *Underlay) ensureMachineRules(ctx context.Context) error {
	err := netns.Do(u.cfg.MachineNetns, func() error {
		nft, err := knftables.New(knftables.IPv4Family, u.tableName())
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		tx := u.rules(nft)
		if err := u.guardNetworks(tx); err != nil {
			return err
		}
		if err := nft.Run(ctx, tx); err != nil {
			return fmt.Errorf("set nftables table %q: %w", u.tableName(), err)
		}
		_, err = netns.Sysctl(forwardKey, "1")
		return err
	})
	return errors.Join(err, u.acceptForwarding(ctx))
}

// rules replaces the table as a whole. Its guard keeps strangers out: only the machine itself, its network with LAN,
// and the fabric may open connections into the fabric. A packet that leaves the fabric must carry a node's address
// (with LAN also a pod's), which is hidden behind the machine's on the way to elsewhere. External nodes have rules of
// their own.
func (u *Underlay) rules(nft knftables.Interface) *knftables.Transaction {
	link, subnet := `"`+u.cfg.Link+`"`, u.cfg.Subnet.String()
	friends, own := link, subnet // who may open connections into the fabric, and the sources that may leave it
	masquerade := knftables.Concat("ip saddr", subnet, "oifname !=", link, "masquerade")
	if u.cfg.LAN.enabled() {
		friends, own = "{ "+link+`, "`+u.cfg.LAN.Link+`" }`, "{ "+subnet+", "+u.cfg.LAN.Pods.String()+" }"
		masquerade = knftables.Concat("iifname", link, "oifname !=", friends, "masquerade")
	}
	guard := []string{
		"oifname " + link + " iifname != " + friends + " ct state != { established, related } drop",
		"iifname " + link + " oifname != " + link + " ip saddr != " + own + " drop",
	}
	if u.cfg.External.enabled() {
		masquerade = knftables.Concat("ip saddr", subnet, "oifname !=", link, "ip daddr !=", u.cfg.External.set(), "masquerade")
		guard = u.externalRules(link)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	tx.Add(&knftables.Table{Comment: new("mullion " + u.cfg.RunDir)})
	tx.Add(&knftables.Chain{
		Name:     "postrouting",
		Type:     knftables.PtrTo(knftables.NATType),
		Hook:     knftables.PtrTo(knftables.PostroutingHook),
		Priority: knftables.PtrTo(knftables.SNATPriority),
	})
	tx.Add(&knftables.Rule{Chain: "postrouting", Rule: masquerade})
	tx.Add(&knftables.Chain{
		Name:     "forward",
		Type:     knftables.PtrTo(knftables.FilterType),
		Hook:     knftables.PtrTo(knftables.ForwardHook),
		Priority: knftables.PtrTo(knftables.FilterPriority),
	})
	for _, rule := range append(guard,
		"iifname "+link+" tcp flags syn tcp option maxseg size set rt mtu",
		"oifname "+link+" tcp flags syn tcp option maxseg size set rt mtu",
	) {
		tx.Add(&knftables.Rule{Chain: "forward", Rule: rule})
	}
	u.guardTunnel(tx)
	return tx
}

// guardNetworks keeps a machine that did not forward before from becoming a router between its networks: nothing passes
// from one to another by the switch that was set for the cluster. Bridges and pairs are left out, since they belong to
// containers and virtual machines of others, whose tools count on forwarding.
func (u *Underlay) guardNetworks(tx *knftables.Transaction) error {
	var networks []string
	router := true
	err := netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		links, err := h.LinkList()
		if err != nil {
			return fmt.Errorf("list the machine's interfaces: %w", err)
		}
		for _, l := range links {
			name := l.Attrs().Name
			if was, _, ok := parseAlias(l.Attrs().Alias); ok {
				router = router && was.router()
				continue
			}
			between := l.Type() == "bridge" || l.Type() == "veth" || l.Attrs().Flags&net.FlagLoopback != 0
			if !between && !strings.ContainsAny(name, "\"*") {
				networks = append(networks, `"`+name+`"`)
			}
		}
		return nil
	})
	if err != nil || router || len(networks) < 2 {
		return err
	}
	slices.Sort(networks)
	set := "{ " + strings.Join(networks, ", ") + " }"
	tx.Add(&knftables.Rule{
		Chain: "forward",
		Rule:  "iifname " + set + " oifname " + set + " ct state != { established, related } drop",
	})
	return nil
}

// removeMachineSide removes the table and the link, and puts the switches back, unless another cluster still needs
// forwarding: then the other cluster's link gets the former values.
func (u *Underlay) removeMachineSide(ctx context.Context) error {
	var before former
	foreign := false
	err := netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		was, owner, ok := parseAlias(link.Attrs().Alias)
		if !ok || owner != u.cfg.RunDir {
			foreign = true
			return nil
		}
		heir, err := u.bequeath(h, was)
		if err != nil {
			return err
		}
		if !heir {
			before = was
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look at interface %q: %w", u.cfg.Link, err)
	}
	if foreign { // the link is another cluster's, and so is the table
		return nil
	}
	err = netns.Do(u.cfg.MachineNetns, func() error {
		if before != "" {
			if err := before.putBack(); err != nil {
				return err
			}
		}
		return u.removeTable(ctx)
	})
	return errors.Join(err, u.removeAccepts(ctx), u.removeMachineLink())
}

// bequeath stores the former switches in the alias of another cluster's link, and reports whether there is one.
func (u *Underlay) bequeath(h *netlink.Handle, before former) (bool, error) {
	links, err := h.LinkList()
	if err != nil {
		return false, err
	}
	for _, l := range links {
		_, owner, ok := parseAlias(l.Attrs().Alias)
		if ok && owner != u.cfg.RunDir {
			return true, h.LinkSetAlias(l, aliasOf(before, owner))
		}
	}
	return false, nil
}

func (u *Underlay) removeTable(ctx context.Context) error {
	nft, err := knftables.New(knftables.IPv4Family, u.tableName())
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	return nft.Run(ctx, tx)
}

func (u *Underlay) removeMachineLink() error {
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, owner, ok := parseAlias(link.Attrs().Alias); !ok || owner != u.cfg.RunDir {
			return nil
		}
		if err := h.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return err
		}
		return nil
	})
}
