// Package underlay owns the network that the nodes of one cluster are on: a pinned network namespace with a bridge, one
// more namespace for each Windows host, and the way out through the machine. It owns these namespaces, their links,
// addresses and routes, one nftables table and the forwarding switch of the machine. What happens inside a host beyond
// its own address (pods, HNS) is not its business.
//
//	machine ── Config.Link ─┐
//	                        bridge `underlay` in run/netns/fabric (control plane listens here)
//	host a  ── eth0 ────────┤
//	host b  ── eth0 ────────┘
//
// The kernel is the only memory: every method compares with what is there, so that it repairs after a crash and changes
// nothing when all is right.
package underlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/spec"
)

const (
	// FabricName is the pin of the fabric's namespace below run/netns; a host cannot have that name.
	FabricName = "fabric"
	// HostLink is the interface that carries a host's address, inside the host.
	HostLink = "eth0"

	bridgeName  = "underlay"
	machinePort = "machine"
	// podProtocol marks the default routes and routes to pods that are made here, serviceProtocol the routes to
	// addresses of Services. So they are distinguished from other routes; the kernel's rtnetlink.h leaves both numbers
	// free.
	podProtocol, serviceProtocol = 0x4d, 0x4e
)

var (
	// ErrLinkTaken says that an interface with the wanted name belongs to something else.
	ErrLinkTaken = errors.New("interface name is taken")
	// ErrSubnetTaken says that the machine already has a route into the underlay's subnet.
	ErrSubnetTaken = errors.New("subnet is in use on this machine")
)

// Config says what the underlay of a cluster looks like. Zero fields take the defaults named here.
type Config struct {
	// RunDir holds the pins, in its folder netns. It also identifies the cluster on the machine.
	RunDir string
	// Link is the machine's interface into the fabric, unique per cluster, at most 15 bytes; mullion0.
	Link string
	// Subnet is the range of the nodes' addresses; 10.213.0.0/24.
	Subnet netip.Prefix
	// Subnet6 is the IPv6 range in a dual-stack cluster; otherwise not valid. Every host and the machine have the
	// address in it with the same number as in Subnet. The machine forwards IPv6 if it has IPv6 routes.
	Subnet6 netip.Prefix
	// Fabric is the control plane's address; the first one of Subnet.
	Fabric netip.Addr
	// Endpoint is another address of the fabric, behind which servers on hosts can be; not set, there is none.
	Endpoint netip.Addr
	// Machine is the machine's address and every node's gateway; the last but one of Subnet (.254 of a /24).
	Machine netip.Addr
	// MachineNetns is the machine's network namespace; that of the calling process.
	MachineNetns string
	// Tunnel joins the underlay with the underlays of other machines.
	Tunnel Tunnel
	// LAN is set if hosts are on a network of the machine's. Then Subnet is that network's subnet, Machine the
	// machine's address on it, and Fabric is not set: the fabric has no address.
	LAN LAN
	// External are the cluster's nodes beyond the underlay.
	External External
}

// Underlay is the fabric of one cluster. Its methods may be called from several goroutines.
type Underlay struct {
	cfg Config
	mu  sync.Mutex
	// made says that Up has succeeded, hosts are those of AddHost by their names, and tables are the machine's tables
	// of nftables as they were when they were set: what Mend compares the kernel with.
	made   bool
	hosts  map[string]netip.Addr
	tables map[knftables.Family]string
	// machines are the other machines that the underlay spans.
	machines []netip.Addr
	// elsewhere is to how many ranges of pods the machine's routes lead into another cluster.
	elsewhere atomic.Int64
}

// New checks the configuration and fills its defaults; it touches nothing.
func New(cfg Config) (*Underlay, error) {
	if cfg.Link == "" {
		cfg.Link = "mullion0"
	}
	if !cfg.Subnet.IsValid() {
		cfg.Subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 213, 0, 0}), 24)
	}

	cfg.Subnet = cfg.Subnet.Masked()
	if !cfg.Fabric.IsValid() && !cfg.LAN.enabled() {
		cfg.Fabric = cfg.Subnet.Addr().Next()
	}
	if !cfg.Machine.IsValid() {
		cfg.Machine = spec.Last(cfg.Subnet).Prev()
	}

	if cfg.MachineNetns == "" {
		cfg.MachineNetns = netns.Self
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Underlay{cfg: cfg, hosts: map[string]netip.Addr{}}, cfg.Tunnel.check()
}

// check returns what is wrong with a configuration whose defaults are filled in.
func (cfg Config) check() error {
	switch {
	case cfg.RunDir == "":
		return errors.New("underlay: run folder is empty")
	case len(cfg.Link) > 15 || strings.ContainsAny(cfg.Link, "/ :\t\n\""):
		return fmt.Errorf("underlay: %q is no interface name", cfg.Link)
	case !cfg.Subnet.Addr().Is4() || (cfg.Subnet.Bits() > 28 && !cfg.LAN.enabled()):
		return fmt.Errorf("underlay: subnet %s is not an IPv4 network of at least 16 addresses", cfg.Subnet)
	case cfg.LAN.enabled():
		return cfg.checkLAN()
	}

	if err := cfg.checkAddrs(); err != nil {
		return err
	}

	return cfg.External.check(cfg.Subnet)
}

// checkAddrs checks the fabric's and the machine's addresses.
func (cfg Config) checkAddrs() error {
	if !cfg.Subnet.Contains(cfg.Fabric) || !cfg.Subnet.Contains(cfg.Machine) || cfg.Fabric == cfg.Machine {
		return fmt.Errorf("underlay: %s and %s are not two addresses of subnet %s", cfg.Fabric, cfg.Machine, cfg.Subnet)
	}
	if e := cfg.Endpoint; e.IsValid() && (!cfg.Subnet.Contains(e) || e == cfg.Fabric || e == cfg.Machine) {
		return fmt.Errorf("underlay: %s is not another address of subnet %s", e, cfg.Subnet)
	}
	if _, err := spec.Address6(cfg.Subnet, cfg.Subnet6, cfg.Machine); err != nil {
		return fmt.Errorf("underlay: %w", err)
	}
	return nil
}

// Config returns the configuration with its defaults filled in.
func (u *Underlay) Config() Config { return u.cfg }

// FabricNetns returns the pin of the fabric's namespace, where the control plane runs.
func (u *Underlay) FabricNetns() string { return u.pin(FabricName) }

// HostNetns returns the pin of a host's namespace.
func (u *Underlay) HostNetns(name string) string { return u.pin(name) }

func (u *Underlay) pin(name string) string { return filepath.Join(u.cfg.RunDir, "netns", name) }

// Up makes the fabric and the machine's way into it, or repairs what is missing of them. On error it leaves what it
// made, for the next Up or Down.
func (u *Underlay) Up(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.make(ctx); err != nil {
		return err
	}
	u.made = true
	return nil
}

func (u *Underlay) make(ctx context.Context) error {
	if err := u.checkSubnet(); err != nil {
		return err
	}
	if _, err := netns.Ensure(u.FabricNetns()); err != nil {
		return err
	}
	if err := netns.Netlink(u.FabricNetns(), u.ensureBridge); err != nil {
		return fmt.Errorf("make bridge %q: %w", bridgeName, err)
	}

	if err := u.ensureMachineLink(); err != nil {
		return fmt.Errorf("make interface %q: %w", u.cfg.Link, err)
	}
	if err := u.ensureTunnel(); err != nil {
		return err
	}
	if err := u.ensureLAN(); err != nil {
		return fmt.Errorf("join network %s: %w", u.cfg.Subnet, err)
	}

	if err := u.pruneExternal(); err != nil {
		return fmt.Errorf("remove routes to nodes that are gone: %w", err)
	}
	if u.cfg.LAN.enabled() {
		return u.ensureMachineRules(ctx)
	}

	if err := netns.Netlink(u.FabricNetns(),
		func(h *netlink.Handle) error { return u.ensureGateway(h, bridgeName) }); err != nil {
		return err
	}

	return u.ensureMachineRules(ctx)
}

// Down removes every namespace, interface, table and switch that the cluster has on the machine. It is no error when
// there is nothing.
func (u *Underlay) Down(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.made = false
	errs := []error{u.leaveLAN(ctx), u.removeMachineSide(ctx), u.removeStrandedTunnel()}
	names, err := u.pins()
	errs = append(errs, err)
	for _, name := range names {
		errs = append(errs, u.removeHost(name))
	}

	errs = append(errs, netns.Remove(u.FabricNetns()))
	if err := os.Remove(u.switchesFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	if err := os.Remove(filepath.Join(u.cfg.RunDir, "netns")); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// pins returns the names of the hosts whose namespaces are, or were, pinned.
func (u *Underlay) pins() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(u.cfg.RunDir, "netns"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != FabricName && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (u *Underlay) ensureBridge(h *netlink.Handle) error {
	link, err := h.LinkByName(bridgeName)
	if isNotFound(err) {
		off := false
		bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}, MulticastSnooping: &off}
		if u.cfg.Fabric.IsValid() {
			bridge.HardwareAddr = macOf(u.cfg.Fabric)
		}
		err = h.LinkAdd(bridge)
		if err == nil {
			link, err = h.LinkByName(bridgeName)
		}
	}
	if err != nil || !u.cfg.Fabric.IsValid() {
		return err
	}

	if u.cfg.Endpoint.IsValid() {
		endpoint := &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(u.cfg.Endpoint, 32))}
		if err := h.AddrReplace(link, endpoint); err != nil {
			return fmt.Errorf("set address %s: %w", u.cfg.Endpoint, err)
		}
	}

	return u.ensureUp(h, link, u.cfg.Fabric)
}

// ensureUp gives the link its address in the subnet, and sets it up.
func (u *Underlay) ensureUp(h *netlink.Handle, link netlink.Link, addr netip.Addr) error {
	if err := h.AddrReplace(link, &netlink.Addr{IPNet: u.ipNet(addr)}); err != nil {
		return fmt.Errorf("set address %s: %w", addr, err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return err
	}

	if six := u.addr6(addr); six.IsValid() {
		x := &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(six, u.cfg.Subnet6.Bits())), Flags: unix.IFA_F_NODAD}
		if err := h.AddrReplace(link, x); err != nil {
			return fmt.Errorf("set address %s: %w", six, err)
		}
	}

	return nil
}

// addr6 returns the IPv6 address with the same number as an IPv4 address; not valid without IPv6.
func (u *Underlay) addr6(addr netip.Addr) netip.Addr {
	six, _ := spec.Address6(u.cfg.Subnet, u.cfg.Subnet6, addr) // New saw that the largest fits
	return six
}

// ensureGateway sets the default routes, by way of the machine.
func (u *Underlay) ensureGateway(h *netlink.Handle, link string) error {
	err := ensureRoute(h, link, &netlink.Route{
		Dst:      anywhere(),
		Gw:       u.cfg.Machine.AsSlice(),
		Protocol: podProtocol,
	})

	if six := u.addr6(u.cfg.Machine); err == nil && six.IsValid() {
		all := &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
		err = ensureRoute(h, link, &netlink.Route{
			Dst:      all,
			Gw:       six.AsSlice(),
			Protocol: podProtocol,
		})
	}

	return err
}

func (u *Underlay) ipNet(addr netip.Addr) *net.IPNet {
	return &net.IPNet{IP: addr.AsSlice(), Mask: net.CIDRMask(u.cfg.Subnet.Bits(), 32)}
}

// macOf derives a hardware address from an IPv4 address: below 00-15-5D, which is Microsoft's (Hyper-V), as a Windows
// host would have.
func macOf(addr netip.Addr) net.HardwareAddr {
	b := addr.As4()
	return net.HardwareAddr{0x00, 0x15, 0x5d, b[1], b[2], b[3]}
}

func isNotFound(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.As(err, &missing)
}
