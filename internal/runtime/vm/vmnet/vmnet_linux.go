// Package vmnet gives the interfaces of a pod's network namespace to the guest of a virtual machine: each gets a TAP
// device beside it, and traffic control passes every frame that comes in on the one out on the other, as Kata
// Containers do it (https://github.com/kata-containers/kata-containers/blob/main/docs/design/architecture/networking.md). The
// guest takes the interface's hardware address, addresses and routes, so the pod's network sees no difference. The
// interface itself stays as whoever connected the pod has made it. The devices are gone with QEMU.
package vmnet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// tapPrefix begins the names of the TAP devices.
const tapPrefix = "vmtap"

// Attach makes the TAP devices in the network namespace at path, and returns them with what the guest is to know, in
// the same order. The caller closes the devices; they are gone when nobody has them open.
func Attach(path string) (taps []*os.File, interfaces []link.Interface, err error) {
	defer func() {
		if err != nil {
			for _, tap := range taps {
				_ = tap.Close()
			}
			taps = nil
		}
	}()

	err = netns.Do(path, func() error {
		if err := noRules(); err != nil {
			return err
		}
		links, err := netlink.LinkList()
		if err != nil {
			return fmt.Errorf("list the pod's interfaces: %w", err)
		}

		for _, l := range links {
			if l.Attrs().Flags&net.FlagLoopback != 0 || l.Attrs().Flags&net.FlagUp == 0 ||
				strings.HasPrefix(l.Attrs().Name, tapPrefix) {
				continue
			}
			description, err := describe(l)
			if err != nil {
				return fmt.Errorf("look at the pod's interface %s: %w", l.Attrs().Name, err)
			}

			tap, err := beside(l, fmt.Sprintf("%s%d", tapPrefix, len(taps)))
			if tap != nil {
				taps = append(taps, tap)
			}
			if err != nil {
				return fmt.Errorf("connect the guest to the pod's interface %s: %w", l.Attrs().Name, err)
			}
			interfaces = append(interfaces, description)
		}

		return nil
	})

	return taps, interfaces, err
}

// noRules refuses a namespace with rules of its own, which a guest's packets would not pass: HNS has proxies of layer 4
// there, and the access lists of pods that are on the nodes' network themselves.
func noRules() error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}

	tables, err := conn.ListTables()
	if err != nil {
		return fmt.Errorf("look for rules in the pod's network namespace: %w", err)
	}
	if len(tables) > 0 {
		return fmt.Errorf("policies of HNS lie in the pod's own network namespace (table %s), where they would not act on a "+
			"virtual machine: %w", tables[0].Name, errdefs.ErrNotImplemented)
	}

	return nil
}

// beside makes a TAP device whose frames go out of l, and the other way round.
func beside(l netlink.Link, name string) (*os.File, error) {
	tap := &netlink.Tuntap{
		LinkAttrs: netlink.LinkAttrs{Name: name, MTU: l.Attrs().MTU},
		Mode:      netlink.TUNTAP_MODE_TAP,
		Flags:     netlink.TUNTAP_NO_PI | netlink.TUNTAP_VNET_HDR,
		Queues:    1,
		// Without this the kernel would keep the device when QEMU ends.
		NonPersist: true,
	}

	if err := netlink.LinkAdd(tap); err != nil {
		return nil, fmt.Errorf("make TAP device: %w", err)
	}

	f := tap.Fds[0]
	made, err := netlink.LinkByName(name)
	if err != nil {
		return f, err
	}

	err = errors.Join(
		os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0), // the device is no host
		netlink.LinkSetMTU(made, l.Attrs().MTU),
		netlink.LinkSetUp(made),
	)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return f, err
	}

	return f, errors.Join(redirect(l, made), redirect(made, l))
}

// redirect passes all that comes in on a link out on another.
func redirect(from, to netlink.Link) error {
	ingress := &netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: from.Attrs().Index, Parent: netlink.HANDLE_INGRESS, Handle: netlink.MakeHandle(0xffff, 0),
	}}
	// That of a machine before, with its filters; there may be none.
	if err := netlink.QdiscDel(ingress); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("let go of what comes in on %s: %w", from.Attrs().Name, err)
	}

	if err := netlink.QdiscAdd(ingress); err != nil {
		return fmt.Errorf("take what comes in on %s: %w", from.Attrs().Name, err)
	}

	err := netlink.FilterAdd(&netlink.U32{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: from.Attrs().Index, Parent: ingress.Handle, Priority: 1, Protocol: unix.ETH_P_ALL,
		},
		Actions: []netlink.Action{netlink.NewMirredAction(to.Attrs().Index)},
	})
	if err != nil {
		return fmt.Errorf("pass what comes in on %s to %s: %w", from.Attrs().Name, to.Attrs().Name, err)
	}

	return nil
}

// describe says what a guest needs to know of an interface.
func describe(l netlink.Link) (link.Interface, error) {
	out := link.Interface{
		Name: l.Attrs().Name,
		MAC:  l.Attrs().HardwareAddr.String(),
		MTU:  l.Attrs().MTU,
	}

	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return out, err
	}
	for _, a := range addrs {
		if !a.IP.IsLinkLocalUnicast() || a.IP.To4() != nil {
			out.Addresses = append(out.Addresses, a.IPNet.String())
		}
	}

	routes, err := netlink.RouteList(l, netlink.FAMILY_ALL)
	if err != nil {
		return out, err
	}
	for _, r := range routes {
		if r.Protocol != unix.RTPROT_KERNEL && r.Table == unix.RT_TABLE_MAIN && r.Type == unix.RTN_UNICAST {
			out.Routes = append(out.Routes, routeOf(r))
		}
	}

	neighbours, err := netlink.NeighList(l.Attrs().Index, netlink.FAMILY_ALL)
	if err != nil {
		return out, err
	}

	for _, n := range neighbours {
		if n.State == netlink.NUD_PERMANENT && n.HardwareAddr != nil && n.IP != nil {
			known := link.Neighbour{Address: n.IP.String(), MAC: n.HardwareAddr.String()}
			out.Neighbours = append(out.Neighbours, known)
		}
	}

	return out, nil
}

func routeOf(r netlink.Route) link.Route {
	out := link.Route{Metric: r.Priority, IPv6: r.Family == netlink.FAMILY_V6}
	if r.Dst != nil {
		if ones, _ := r.Dst.Mask.Size(); ones > 0 {
			out.Destination = r.Dst.String()
		}
	}
	if r.Gw != nil {
		out.Gateway = r.Gw.String()
	}
	return out
}
