package underlay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// Others change the machine's network beside a cluster: a firewall that restarts flushes tables that are not its own
// (`nft flush ruleset` in nftables.service), ufw, firewalld and Docker write theirs anew, without the rules that let
// the cluster's packets pass, and somebody deletes a link. Mend compares what is there with what Up, AddHost and the
// routes have made, and makes again what is missing.

// Faults names what the underlay lacks, a line each, and changes nothing. Before Up has succeeded it returns nil.
func (u *Underlay) Faults(ctx context.Context) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.made {
		return nil, nil
	}
	return u.faults(ctx)
}

// Mend makes again what is missing of the underlay, and returns what that was. If something cannot be mended, the error
// says what.
func (u *Underlay) Mend(ctx context.Context) (mended []string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.made {
		return nil, nil
	}

	mended, err = u.faults(ctx)
	if err != nil || len(mended) == 0 {
		return nil, err
	}
	was := strings.Join(mended, "; ")
	if err := u.mend(ctx); err != nil {
		return nil, fmt.Errorf("mend the network (%s): %w", was, err)
	}

	left, err := u.faults(ctx)
	if err != nil {
		return mended, err
	}
	if len(left) > 0 {
		return mended, fmt.Errorf("mend the network (%s): it is still so: %s", was, strings.Join(left, "; "))
	}

	return mended, nil
}

func (u *Underlay) mend(ctx context.Context) error {
	// Before a link is made anew, since its routes have gone with it; but those of the other namespaces are there.
	routes := map[netlink.RouteProtocol][]Route{}
	for _, protocol := range routeProtocols() {
		routes[protocol] = u.allRoutes(protocol)
	}

	if err := u.make(ctx); err != nil {
		return err
	}

	var errs []error
	for name, addr := range u.hosts {
		if err := u.addHost(name, addr); err != nil {
			errs = append(errs, fmt.Errorf("host %q: %w", name, err))
			continue
		}
		errs = append(errs, u.announce(addr))
	}

	for protocol, want := range routes {
		errs = append(errs, u.setRoutes(protocol, want))
	}

	if len(u.machines) > 0 {
		errs = append(errs, u.flood(u.machines), u.admit(ctx, u.machines), u.rememberTables(ctx))
	}

	return errors.Join(errs...)
}

// allRoutes returns the routes of one kind that any namespace of the underlay has.
func (u *Underlay) allRoutes(protocol netlink.RouteProtocol) []Route {
	var all []Route
	collect := func(path, link string) {
		_ = netns.Netlink(path, func(h *netlink.Handle) error {
			some, err := routesOf(h, link, protocol)
			for _, r := range some {
				if !slices.Contains(all, r) {
					all = append(all, r)
				}
			}
			return err // a link that is missing has no routes
		})
	}

	collect(u.FabricNetns(), bridgeName)
	collect(u.cfg.MachineNetns, u.cfg.Link)
	for name := range u.hosts {
		collect(u.HostNetns(name), HostLink)
	}

	return all
}

// faults requires mu, and that Up has succeeded.
func (u *Underlay) faults(ctx context.Context) ([]string, error) {
	if there, err := netns.Exists(u.FabricNetns()); err != nil || !there {
		return nil, errors.Join(err, fmt.Errorf("the cluster's network namespace %s is gone; `mullion stop` and `mullion up` make it anew",
			u.FabricNetns()))
	}

	var found []string
	for _, look := range []func(context.Context) ([]string, error){
		u.fabricFaults, u.machineFaults, u.hostFaults, u.routeFaults, u.tableFaults, u.switchFaults,
	} {
		some, err := look(ctx)
		if err != nil {
			return nil, fmt.Errorf("look at the cluster's network: %w", err)
		}
		found = append(found, some...)
	}

	return found, nil
}

// linkFault says what a link lacks: itself, its addresses, or being up. It is "" if that is nothing.
func linkFault(h *netlink.Handle, where, name string, addrs ...netip.Addr) (string, error) {
	link, err := h.LinkByName(name)
	if isNotFound(err) {
		return fmt.Sprintf("link %q %s was gone", name, where), nil
	}
	if err != nil {
		return "", err
	}

	if !isUp(link) {
		return fmt.Sprintf("link %q %s was down", name, where), nil
	}

	have, err := h.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return "", err
	}

	for _, addr := range addrs {
		isIt := func(a netlink.Addr) bool { return a.IP.Equal(addr.AsSlice()) }
		if addr.IsValid() && !slices.ContainsFunc(have, isIt) {
			return fmt.Sprintf("link %q %s had lost its address %s", name, where, addr), nil
		}
	}

	return "", nil
}

func isUp(link netlink.Link) bool { return link.Attrs().Flags&net.FlagUp != 0 }

func (u *Underlay) fabricFaults(context.Context) (found []string, err error) {
	err = netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		const where = "of the cluster's bridge"
		addrs := []netip.Addr{u.cfg.Fabric, u.cfg.Endpoint}
		if u.cfg.Fabric.IsValid() {
			addrs = append(addrs, u.addr6(u.cfg.Fabric))
		}

		text, err := linkFault(h, where, bridgeName, addrs...)
		if err != nil || text != "" {
			found = add(found, text)
			return err
		}
		ports := []string{machinePort}
		if u.cfg.Tunnel.enabled() {
			ports = append(ports, tunnelPort)
		}

		for _, port := range ports {
			if text, err = linkFault(h, where, port); err != nil {
				return err
			}
			found = add(found, text)
		}

		if u.cfg.LAN.enabled() {
			return nil
		}

		way, err := hasDefault(h, bridgeName, u.cfg.Machine)
		if err == nil && !way {
			found = append(found, "the control plane had lost its default route")
		}

		return err
	})

	return found, err
}

func add(found []string, text string) []string {
	if text == "" {
		return found
	}
	return append(found, text)
}

func hasDefault(h *netlink.Handle, name string, via netip.Addr) (bool, error) {
	link, err := h.LinkByName(name)
	if err != nil {
		return false, err
	}
	routes, err := h.RouteList(link, netlink.FAMILY_V4)
	return slices.ContainsFunc(routes, func(r netlink.Route) bool {
		dst, ok := ipnet.Prefix(r.Dst)
		return (r.Dst == nil || (ok && dst.Bits() == 0)) && r.Gw.Equal(via.AsSlice())
	}), err
}

func (u *Underlay) machineFaults(context.Context) (found []string, err error) {
	err = netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		addrs := []netip.Addr{u.cfg.Machine}
		if !u.cfg.LAN.enabled() {
			addrs = append(addrs, u.addr6(u.cfg.Machine))
		}
		text, err := linkFault(h, "of the machine", u.cfg.Link, addrs...)
		found = add(found, text)
		return err
	})
	return found, err
}

// hostFaults looks for the hosts' links alone: what is inside of a host, its own programs may change.
func (u *Underlay) hostFaults(context.Context) (found []string, err error) {
	err = netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		for _, name := range slices.Sorted(maps.Keys(u.hosts)) {
			_, err := h.LinkByName(portName(name)) // one end of a pair is never alone
			switch {
			case isNotFound(err):
				found = append(found, fmt.Sprintf("the link of node %q was gone", name))
			case err != nil:
				return err
			}
		}

		return nil
	})

	return found, err
}

// routeFaults compares the machine's routes to pods and Services with the fabric's.
func (u *Underlay) routeFaults(context.Context) (found []string, err error) {
	if u.cfg.LAN.enabled() {
		return nil, nil // the fabric has none
	}

	for _, protocol := range routeProtocols() {
		all := u.allRoutes(protocol)
		for path, link := range map[string]string{u.FabricNetns(): bridgeName, u.cfg.MachineNetns: u.cfg.Link} {
			err := netns.Netlink(path, func(h *netlink.Handle) error {
				have, err := routesOf(h, link, protocol)
				if err != nil {
					return ignoreGone(err)
				}

				want, err := u.notTaken(h, path, protocol, all)
				for _, r := range want {
					if !slices.Contains(have, r) {
						found = append(found, fmt.Sprintf("the route to %s was gone", r.CIDR))
					}
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}

	slices.Sort(found)
	return slices.Compact(found), nil
}

// ignoreGone leaves out that a link is not there, which others say.
func ignoreGone(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

// families returns the families of nftables in which the machine has a table of the cluster's.
func (u *Underlay) families() []knftables.Family {
	if u.cfg.Subnet6.IsValid() {
		return []knftables.Family{knftables.IPv4Family, knftables.IPv6Family}
	}
	return []knftables.Family{knftables.IPv4Family}
}

// tableFaults compares the machine's tables with what they were when they were set: a rule that somebody has removed is
// seen too. And it looks for the rules in other programs' chains.
func (u *Underlay) tableFaults(ctx context.Context) (found []string, err error) {
	for _, family := range u.families() {
		text, err := u.tableText(ctx, family)
		switch want := u.tables[family]; {
		case err != nil:
			return nil, err
		case text == "":
			found = append(found, fmt.Sprintf("nftables table %s %s was gone", family, u.tableName()))
		case want != "" && text != want:
			found = append(found, fmt.Sprintf("nftables table %s %s was changed by somebody", family, u.tableName()))
		}
	}

	err = u.inFilterTables(ctx, u.families(), func(nft knftables.Interface, chains []string) error {
		if !u.forwarding(ctx, nft, chains) {
			found = append(found, "the rules that let the cluster's packets pass the firewall's forward chain were gone")
		}
		return nil
	})

	return slices.Compact(found), err
}

// tableText returns one of the machine's tables as nft shows it, without its counters; "" if it is not there.
func (u *Underlay) tableText(ctx context.Context, family knftables.Family) (text string, err error) {
	err = netns.Do(u.cfg.MachineNetns, func() error {
		cmd := exec.CommandContext(ctx, "nft", "--stateless", "list", "table", string(family), u.tableName())
		cmd.Env = []string{"PATH=" + nftPath, "LC_ALL=C"}
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil && strings.Contains(said.String(), "No such file") {
			return nil
		}

		if err != nil {
			return fmt.Errorf("list nftables table %q: %w: %s", u.tableName(), err, strings.TrimSpace(said.String()))
		}
		text = string(out)
		return nil
	})

	return text, err
}

// nftPath is where distributions have nft.
const nftPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// rememberTables notes how the machine's tables are, after they were set.
func (u *Underlay) rememberTables(ctx context.Context) error {
	tables := map[knftables.Family]string{}
	for _, family := range u.families() {
		text, err := u.tableText(ctx, family)
		if err != nil {
			return err
		}
		tables[family] = text
	}
	u.tables = tables
	return nil
}

// switchFaults looks whether the machine still forwards: without it nothing leaves the cluster.
func (u *Underlay) switchFaults(context.Context) (found []string, err error) {
	err = netns.Do(u.cfg.MachineNetns, func() error {
		value, err := os.ReadFile("/proc/sys/" + forwardKey)
		if err == nil && strings.TrimSpace(string(value)) == "0" {
			found = append(found, "the machine did not forward packets any more (net.ipv4.ip_forward)")
		}
		return err
	})
	return found, err
}

// The former values of the machine's switches are in the link's alias. A file in the run folder has them too, for a
// link that is made again after somebody has deleted it: then the present values are the cluster's own.

func (u *Underlay) switchesFile() string { return filepath.Join(u.cfg.RunDir, "machine-switches") }

// keepSwitches writes the alias of the machine's link into that file.
func (u *Underlay) keepSwitches(alias string) error {
	return atomicfile.Write(u.switchesFile(), []byte(alias), 0o600)
}

// keptSwitches reads the file; ok is false if the link was never made.
func (u *Underlay) keptSwitches() (was switches, ok bool) {
	text, err := os.ReadFile(u.switchesFile())
	if err != nil {
		return was, false
	}
	was, owner, ok := parseAlias(string(text))
	return was, ok && owner == u.cfg.RunDir
}
