package dataplane

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/network/netplan"
)

// A tag's interface is one end of a veth pair. Small BPF programs join the other end and the uplink: what comes out of
// the pair gets the tag (IEEE 802.1Q) and leaves by the uplink; what comes from the uplink with the tag loses it and
// goes into the pair. The kernel's own VLAN interfaces would do the same, but not every kernel has them.

// taggedEnd returns the other end of a tag's interface.
func taggedEnd(link string) string { return "vt" + strings.TrimPrefix(link, vlanPrefix) }

// ensureVLAN makes the uplink's interface for a tag, or repairs it.
func (p *space) ensureVLAN(h *netlink.Handle, uplink string, tag uint16) error {
	name := vlanLink(uplink, tag)
	parent, err := h.LinkByName(uplink)
	if err != nil {
		return err
	}
	link, err := p.ensureTagPair(h, name, parent)
	if err != nil {
		return err
	}

	end, err := h.LinkByName(taggedEnd(name))
	if err != nil {
		return err
	}

	for _, l := range []netlink.Link{link, end} {
		if mtu := parent.Attrs().MTU; l.Attrs().MTU != mtu {
			if err := h.LinkSetMTU(l, mtu); err != nil {
				return fmt.Errorf("set MTU %d: %w", mtu, err)
			}
		}
		if err := setUp(h, l); err != nil {
			return err
		}
	}

	for _, f := range tagFilters(end, parent, tag) {
		if err := f.ensure(h); err != nil {
			return err
		}
	}

	return h.LinkSetAlias(link, vlanAlias(uplink, tag))
}

// tagIsWhole reports whether a network's tag interface is as ensureVLAN makes it.
func (p *space) tagIsWhole(h *netlink.Handle, b netplan.Bridge) bool {
	name := vlanLink(p.uplink(b), b.VLAN)
	link, err := h.LinkByName(name)
	end, endErr := h.LinkByName(taggedEnd(name))
	parent, parentErr := h.LinkByName(p.uplink(b))
	if err != nil || endErr != nil || parentErr != nil || link.Attrs().Flags&end.Attrs().Flags&net.FlagUp == 0 {
		return false
	}

	for _, f := range tagFilters(end, parent, b.VLAN) {
		if there, err := f.exists(h); err != nil || !there {
			return false
		}
	}

	return true
}

// filter is a program that sees what comes in by an interface. Its priority tells it from those of other tags, and its
// name says what it does.
type filter struct {
	index    int
	priority uint16
	name     string
	program  []insn
}

func tagFilters(end, uplink netlink.Link, tag uint16) []filter {
	from, to := end.Attrs().Index, uplink.Attrs().Index
	return []filter{
		{from, 1, fmt.Sprintf("tag %d to %d", tag, to), pushTag(tag, to)},
		{to, tag, fmt.Sprintf("tag %d to %d", tag, from), popTag(tag, from)},
	}
}

// ensureTagPair makes the veth pair. Frames carry the uplink's hardware address, as the host's own do.
func (p *space) ensureTagPair(h *netlink.Handle, name string, parent netlink.Link) (netlink.Link, error) {
	link, err := lookup(h, name)
	if err != nil {
		return nil, err
	}
	mac := parent.Attrs().HardwareAddr
	if link != nil && link.Type() == "veth" && link.Attrs().HardwareAddr.String() == mac.String() {
		return link, nil
	}

	if link != nil {
		if err := h.LinkDel(link); err != nil {
			return nil, err
		}
	}
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: mac}, PeerName: taggedEnd(name)}
	if err := h.LinkAdd(pair); err != nil {
		return nil, err
	}

	if link, err = h.LinkByName(name); err != nil {
		return nil, err
	}

	return link, p.inHost(func() error {
		return errors.Join(tagSysctls(name), silence(taggedEnd(name)))
	})
}

// tagSysctls let the host route by a tag's interface, as by its uplink. The host answers there for itself only, not for
// what it routes: the pods of a Transparent network answer themselves.
func tagSysctls(name string) error {
	conf := "net/ipv4/conf/" + name
	return errors.Join(sysctls([][2]string{
		{conf + "/forwarding", "1"},
		{conf + "/rp_filter", "0"},
		{conf + "/send_redirects", "0"},
	}), sysctls6(name))
}

// silence keeps the host from speaking by an interface that has no address: it carries frames alone.
func silence(name string) error {
	err := sysctls([][2]string{{"net/ipv4/conf/" + name + "/arp_ignore", "8"}})
	conf := "net/ipv6/conf/" + name
	if _, statErr := os.Stat("/proc/sys/" + conf); statErr == nil {
		err = errors.Join(err, sysctls([][2]string{{conf + "/disable_ipv6", "1"}}))
	}
	return err
}

// removeTag removes a tag's interface and the uplink's filter for the tag. Any other link is just removed.
func removeTag(h *netlink.Handle, l netlink.Link) error {
	uplink, tag, ok := parseVLANAlias(l.Attrs().Alias)
	if !ok {
		return removeLink(h, l)
	}
	parent, err := lookup(h, uplink)
	if err == nil && parent != nil {
		err = dropFilter(h, parent.Attrs().Index, tag)
	}
	return errors.Join(err, removeLink(h, l))
}

func vlanAlias(uplink string, tag uint16) string {
	return fmt.Sprintf("%s%s %d", aliasVLAN, uplink, tag)
}

func parseVLANAlias(alias string) (uplink string, tag uint16, ok bool) {
	rest, ok := strings.CutPrefix(alias, aliasVLAN)
	uplink, number, found := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(number, 10, 16)
	return uplink, uint16(n), ok && found && err == nil
}

func (f filter) exists(h *netlink.Handle) (bool, error) {
	filters, err := h.FilterList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: f.index}},
		netlink.HANDLE_MIN_INGRESS)
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return false, fmt.Errorf("list filters: %w", err)
	}
	return slices.ContainsFunc(filters, func(other netlink.Filter) bool {
		b, ok := other.(*netlink.BpfFilter)
		return ok && b.Priority == f.priority && b.Name == f.name
	}), nil
}

func (f filter) ensure(h *netlink.Handle) error {
	if there, err := f.exists(h); err != nil || there {
		return err
	}
	fd, err := loadProgram(f.program)
	if err != nil {
		return fmt.Errorf("load program %q: %w", f.name, err)
	}
	defer func() { _ = unix.Close(fd) }()

	queue := &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: f.index,
		Handle:    netlink.MakeHandle(0xffff, 0),
		Parent:    netlink.HANDLE_CLSACT,
	}}
	if err := h.QdiscAdd(queue); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make a place for filters: %w", err)
	}

	return h.FilterReplace(&netlink.BpfFilter{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: f.index,
			Parent:    netlink.HANDLE_MIN_INGRESS,
			Handle:    1,
			Protocol:  unix.ETH_P_ALL,
			Priority:  f.priority,
		},
		Fd:           fd,
		Name:         f.name,
		DirectAction: true,
	})
}

func dropFilter(h *netlink.Handle, index int, priority uint16) error {
	err := h.FilterDel(&netlink.BpfFilter{FilterAttrs: netlink.FilterAttrs{
		LinkIndex: index,
		Parent:    netlink.HANDLE_MIN_INGRESS,
		Handle:    1,
		Protocol:  unix.ETH_P_ALL,
		Priority:  priority,
	}})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// insn is an instruction of BPF: https://www.kernel.org/doc/html/v6.12/bpf/standardization/instruction-set.html.
type insn struct {
	code uint8
	regs uint8 // the destination, and from bit 4 the source
	off  int16
	imm  int32
}

// Offsets in struct __sk_buff, helpers and verdicts (linux/bpf.h and linux/pkt_cls.h, Linux 6.12).
const (
	skbTagPresent = 20
	skbTag        = 24

	helperPushTag  = 18
	helperPopTag   = 19
	helperRedirect = 23

	verdictNext = -1
	verdictDrop = 2
)

func set(to uint8, value int32) insn {
	return insn{
		code: 0xb7,
		regs: to,
		imm:  value,
	}
}

func load(to, from uint8, at int16) insn {
	return insn{
		code: 0x61,
		regs: to | from<<4,
		off:  at,
	}
}

func and(to uint8, value int32) insn {
	return insn{
		code: 0x57,
		regs: to,
		imm:  value,
	}
}

func skipIfNot(r uint8, v int32, n int16) insn {
	return insn{
		code: 0x55,
		regs: r,
		off:  n,
		imm:  v,
	}
}

func skipIf(r uint8, v int32, n int16) insn {
	return insn{
		code: 0x15,
		regs: r,
		off:  n,
		imm:  v,
	}
}
func helper(number int32) insn { return insn{code: 0x85, imm: number} }
func exit() insn               { return insn{code: 0x95} }

// pushTag sends all that comes in out by another interface, with the tag.
func pushTag(tag uint16, to int) []insn {
	return []insn{
		set(2, int32(bits.ReverseBytes16(unix.ETH_P_8021Q))), set(3, int32(tag)), helper(helperPushTag),
		skipIfNot(0, 0, 4), set(1, int32(to)), set(2, 0), helper(helperRedirect), exit(),
		set(0, verdictDrop), exit(),
	}
}

// popTag sends what comes in with the tag out by another interface, without it, and leaves all else alone.
func popTag(tag uint16, to int) []insn {
	return []insn{
		load(2, 1, skbTagPresent), skipIf(2, 0, 11),
		load(2, 1, skbTag), and(2, 0xfff), skipIfNot(2, int32(tag), 8),
		helper(helperPopTag), skipIfNot(0, 0, 4), set(1, int32(to)), set(2, 0), helper(helperRedirect), exit(),
		set(0, verdictDrop), exit(),
		set(0, verdictNext), exit(),
	}
}

// loadProgram loads a program into the kernel, which verifies it.
func loadProgram(program []insn) (int, error) {
	license := [...]byte{'G', 'P', 'L', 0}
	attr := struct { // union bpf_attr for BPF_PROG_LOAD
		kind, count           uint32
		instructions, license uint64
		logLevel, logSize     uint32
		log                   uint64
		kernelVersion, flags  uint32
		name                  [16]byte
	}{
		kind:         unix.BPF_PROG_TYPE_SCHED_CLS,
		count:        uint32(len(program)),
		instructions: uint64(uintptr(unsafe.Pointer(&program[0]))),
		license:      uint64(uintptr(unsafe.Pointer(&license[0]))),
		name:         [16]byte{'h', 'n', 's', '_', 't', 'a', 'g'},
	}

	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	runtime.KeepAlive(program)
	runtime.KeepAlive(&license)
	if errno != 0 {
		return -1, errno
	}

	return int(fd), nil
}
