package underlay

import (
	"cmp"
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

// forwardKey and forwardKey6 are the machine's switches for forwarding. Whenever that of IPv4 is turned, the kernel
// sets redirectsKey to its opposite (https://docs.kernel.org/networking/ip-sysctl.html, ip_forward), whatever an
// administrator had there: turned on and off again it would leave a machine that takes ICMP redirects, which hardened
// ones refuse.
const (
	forwardKey   = "net/ipv4/ip_forward"
	redirectsKey = "net/ipv4/conf/all/accept_redirects"
	forwardKey6  = "net/ipv6/conf/all/forwarding"
)

// AliasPrefix begins the alias of the machine's end of the link, by which others know what leads to a cluster. The
// alias carries the owner's run folder and the former values of the switches: "<ip_forward>/<accept_redirects>", and
// that for IPv6 at the end, only if the cluster has set it. It lives exactly as long as the link, also over kill -9.
const AliasPrefix = "mullion ip_forward="

// aliasSix comes before the former value of the switch for IPv6.
const aliasSix = " ipv6_forwarding="

// switches are the former values of the machine's switches; six is "" where none was set.
type switches struct{ four, redirects, six string }

func (u *Underlay) alias(was switches) string { return aliasOf(was, u.cfg.RunDir) }

func aliasOf(was switches, owner string) string {
	alias := AliasPrefix + was.four + "/" + was.redirects + " " + owner
	if was.six != "" {
		alias += aliasSix + was.six
	}
	return alias
}

// parseAlias splits an alias into the former switches and the owner's run folder.
func parseAlias(alias string) (was switches, owner string, ok bool) {
	rest, ok := strings.CutPrefix(alias, AliasPrefix)
	if !ok {
		return switches{}, "", false
	}
	four, owner, ok := strings.Cut(rest, " ")
	was.four, was.redirects, _ = strings.Cut(four, "/")
	if i := strings.LastIndex(owner, aliasSix); i >= 0 {
		owner, was.six = owner[:i], owner[i+len(aliasSix):]
	}
	return was, owner, ok
}

// others calls f with the links of the other clusters on the machine until it returns false.
func (u *Underlay) others(h *netlink.Handle, f func(l netlink.Link, was switches, owner string) bool) error {
	links, err := h.LinkList()
	if err != nil {
		return fmt.Errorf("list the machine's interfaces: %w", err)
	}
	for _, l := range links {
		was, owner, ok := parseAlias(l.Attrs().Alias)
		if ok && owner != u.cfg.RunDir && !f(l, was, owner) {
			return nil
		}
	}
	return nil
}

// former returns the values that the switches had before any cluster set them: those that another cluster remembers, or
// the present ones.
func (u *Underlay) former() (was switches, err error) {
	err = netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		return u.others(h, func(_ netlink.Link, other switches, _ string) bool {
			was.four, was.redirects = cmp.Or(was.four, other.four), cmp.Or(was.redirects, other.redirects)
			was.six = cmp.Or(was.six, other.six)
			return true
		})
	})
	if err != nil {
		return was, err
	}

	err = netns.Do(u.cfg.MachineNetns, func() error {
		for key, value := range map[string]*string{
			forwardKey: &was.four, redirectsKey: &was.redirects, forwardKey6: &was.six,
		} {
			b, err := os.ReadFile("/proc/sys/" + key)
			if errors.Is(err, os.ErrNotExist) && key == forwardKey6 {
				continue // a kernel without IPv6
			}
			if err != nil {
				return err
			}
			*value = cmp.Or(*value, strings.TrimSpace(string(b)))
		}

		return nil
	})

	return was, err
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
			if !ok || dst.Bits() == 0 || (!dst.Overlaps(u.cfg.Subnet) && !dst.Overlaps(u.cfg.Subnet6)) {
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
	was, whole, err := u.machineLink()
	if err != nil {
		return err
	}

	if !whole {
		err = u.makeMachineLink(was)
	} else if _, kept := u.keptSwitches(); !kept {
		err = u.keepSwitches(u.alias(was))
	}
	if err != nil {
		return err
	}

	if err := netns.Netlink(u.FabricNetns(),
		func(h *netlink.Handle) error { return enslave(h, machinePort) }); err != nil {
		return err
	}
	if err := u.allowIPv6(); err != nil {
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

// allowIPv6 lets the link have IPv6 addresses on a machine whose interfaces have none (net.ipv6.conf.all.disable_ipv6).
func (u *Underlay) allowIPv6() error {
	if !u.cfg.Subnet6.IsValid() {
		return nil
	}
	return netns.Do(u.cfg.MachineNetns, func() error {
		_, err := netns.Sysctl("net/ipv6/conf/"+u.cfg.Link+"/disable_ipv6", "0")
		return err
	})
}

// machineLink looks at the machine's end. It returns the switches to remember and whether the pair is whole; an end of
// ours without its other end is removed.
func (u *Underlay) machineLink() (was switches, whole bool, err error) {
	var port, found bool
	err = netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		_, err := h.LinkByName(machinePort)
		port = err == nil
		if isNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return was, false, err
	}

	err = netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}

		remembered, owner, ok := parseAlias(link.Attrs().Alias)
		if !ok || owner != u.cfg.RunDir {
			return fmt.Errorf("%w by something else (alias %q); choose another name", ErrLinkTaken, link.Attrs().Alias)
		}
		if was, found = remembered, true; port {
			whole = true
			return nil
		}

		return h.LinkDel(link)
	})
	if err != nil || found {
		return was, whole, err
	}

	if was, ok := u.keptSwitches(); ok { // somebody has deleted the link
		return was, false, nil
	}
	was, err = u.former()
	was.six = "" // nothing has set it yet
	return was, false, err
}

func (u *Underlay) makeMachineLink(was switches) error {
	if err := u.keepSwitches(u.alias(was)); err != nil {
		return err
	}
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
		if err := h.LinkSetAlias(peer, u.alias(was)); err != nil {
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
		if err := u.guardNetworks(tx, func(was switches) bool { return was.four != "0" }); err != nil {
			return err
		}
		if err := nft.Run(ctx, tx); err != nil {
			return fmt.Errorf("set nftables table %q: %w", u.tableName(), err)
		}
		_, err = netns.Sysctl(forwardKey, "1")
		return err
	})

	return errors.Join(err, u.wayOut6(ctx), u.acceptForwarding(ctx), u.rememberTables(ctx))
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
	tx := u.table(nft, masquerade, guard)
	u.guardTunnel(tx)
	return tx
}

// table replaces the table of one family as a whole, with a rule for the chain postrouting and others for forward.
func (u *Underlay) table(nft knftables.Interface, masquerade string, guard []string) *knftables.Transaction {
	link := `"` + u.cfg.Link + `"`
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

	return tx
}

// guardNetworks keeps a machine that did not forward before from becoming a router between its networks: nothing passes
// from one to another by the switch that was set for the cluster. Bridges and pairs are left out, since they belong to
// containers and virtual machines of others, whose tools count on forwarding.
// forwarded says of the switches of a cluster that the machine forwarded before.
func (u *Underlay) guardNetworks(tx *knftables.Transaction, forwarded func(switches) bool) error {
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
				router = router && forwarded(was)
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

// removeMachineSide removes the tables and the link, and puts the switches back that no other cluster needs.
func (u *Underlay) removeMachineSide(ctx context.Context) error {
	var back switches
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
		back, err = u.bequeath(h, was)
		return err
	})
	if err != nil {
		return fmt.Errorf("look at interface %q: %w", u.cfg.Link, err)
	}

	if foreign { // the link is another cluster's, and so are the tables
		return nil
	}

	err = netns.Do(u.cfg.MachineNetns, func() error {
		if err := back.putBack4(); err != nil {
			return err
		}
		if back.six != "" {
			if err := setForwarding6(back.six); err != nil {
				return err
			}
		}

		return errors.Join(u.removeTable(ctx, knftables.IPv4Family), u.removeTable(ctx, knftables.IPv6Family))
	})

	return errors.Join(err, u.removeAccepts(ctx), u.removeMachineLink())
}

// putBack4 sets those of IPv4 in the network namespace that it is called in. The kernel has changed the other only if
// the machine did not forward.
func (s switches) putBack4() error {
	if s.four == "" {
		return nil
	}
	if _, err := netns.Sysctl(forwardKey, s.four); err != nil || s.four != "0" || s.redirects == "" {
		return err
	}
	_, err := netns.Sysctl(redirectsKey, s.redirects)
	return err
}

// bequeath leaves the switches to the other clusters, and returns those to put back, which no other cluster has set. A
// cluster remembers the same as the ones before it; for IPv4 the alias of one is written, in case that it does not.
func (u *Underlay) bequeath(h *netlink.Handle, was switches) (back switches, err error) {
	back = was
	listed := u.others(h, func(l netlink.Link, own switches, owner string) bool {
		if back.four != "" {
			own.four, own.redirects = was.four, was.redirects
			err = h.LinkSetAlias(l, aliasOf(own, owner))
		}
		back.four = ""
		if own.six != "" {
			back.six = ""
		}
		return err == nil
	})
	return back, errors.Join(listed, err)
}

func (u *Underlay) removeTable(ctx context.Context, family knftables.Family) error {
	nft, err := knftables.New(family, u.tableName())
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
