package nat

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// linkName is the name of a container's interface.
const linkName = "eth0"

// mtu is the size of the largest packet between a container and the gateway, in bytes: the largest of a TAP device. On
// the way further the kernel cuts packets as the way has it.
const mtu = 65520

// makeNamespace makes a container's network namespace, in which programs without privileges may do what Windows lets
// them: bind low ports, and ping. IPv6 it has at the loopback alone, as nothing else carries it.
func makeNamespace(pin string) error {
	if _, err := netns.Ensure(pin); err != nil {
		return err
	}
	return netns.Do(pin, func() error {
		for key, value := range map[string]string{
			"net/ipv4/ip_unprivileged_port_start": "0",
			"net/ipv4/ping_group_range":           "0\t2147483647",
			"net/ipv6/conf/default/disable_ipv6":  "1",
		} {
			_, err := netns.Sysctl(key, value)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
				return err
			}
		}

		return nil
	})
}

// macOf returns the hardware address of the container with an address: one of Microsoft's, as in networks of Windows.
func macOf(addr netip.Addr) net.HardwareAddr {
	a := addr.As4()
	return net.HardwareAddr{0x00, 0x15, 0x5d, a[1], a[2], a[3]}
}

// connect makes the interface of a member's namespace, and returns the TAP device behind it. It goes when the last file
// of the device is closed.
func (m *Member) connect(subnet netip.Prefix) (tap *os.File, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make the container's interface: %w", err)
			if tap != nil {
				err = errors.Join(err, tap.Close())
				tap = nil
			}
		}
	}()

	err = netns.Do(m.Netns, func() (err error) {
		tap, err = openTap()
		return err
	})
	if err != nil {
		return nil, err
	}

	return tap, netns.Netlink(m.Netns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(linkName)
		if err != nil {
			return err
		}
		address := &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(m.Addr, subnet.Bits()))}
		return errors.Join(
			h.LinkSetHardwareAddr(link, macOf(m.Addr)),
			h.LinkSetMTU(link, mtu),
			h.AddrAdd(link, address),
			h.LinkSetUp(link),
			h.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: m.DNS.AsSlice()}),
		)
	})
}

// Carried returns how many bytes the member has received and sent; none, if it is apart.
func (m *Member) Carried() (received, sent uint64, err error) {
	if !m.Addr.IsValid() {
		return 0, 0, nil
	}
	err = netns.Netlink(m.Netns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(linkName)
		if err == nil && link.Attrs().Statistics != nil {
			received, sent = link.Attrs().Statistics.RxBytes, link.Attrs().Statistics.TxBytes
		}
		return err
	})
	return received, sent, err
}

// NoTunError is the error of a machine without TAP devices.
type NoTunError struct{ Err error }

func (e *NoTunError) Error() string { return fmt.Sprintf("this machine has no TAP devices: %v", e.Err) }

// Unwrap returns the cause.
func (e *NoTunError) Unwrap() error { return e.Err }

// openTap makes a TAP device in the calling thread's network namespace.
func openTap() (*os.File, error) {
	const device = "/dev/net/tun"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &NoTunError{&os.PathError{
			Op:   "open",
			Path: device,
			Err:  err,
		}}
	}

	request, err := unix.NewIfreq(linkName)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}

	return os.NewFile(uintptr(fd), device), nil
}

// subnets returns the subnets that the network may have, with the gateway's address.
func subnets() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{"172.30.208.1/20", "10.89.208.1/20", "192.168.208.1/20", "198.18.208.1/20"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// freeSubnet returns the first of the subnets that the machine does not reach otherwise.
func freeSubnet() (netip.Prefix, error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("list the machine's routes: %w", err)
	}

	for _, subnet := range subnets() {
		free := true
		for _, r := range routes {
			dst, ok := ipnet.Prefix(r.Dst)
			free = free && (!ok || dst.Bits() == 0 || !dst.Overlaps(subnet))
		}
		if free {
			return subnet, nil
		}
	}

	return netip.Prefix{}, fmt.Errorf("choose a subnet for containers: this machine has other routes to all of %v", subnets())
}
