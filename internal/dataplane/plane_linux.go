package dataplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// Config says where the host is.
type Config struct {
	// Netns is the pin of the host's network namespace; that of the calling process when empty.
	Netns string
	// PinDir is the folder for the pins of pods' namespaces, named by their IDs. It belongs to this Plane alone.
	PinDir string
	// Uplink is the host's interface on the underlay; eth0 when empty.
	Uplink string
}

// Plane is the data plane of one host. Calls run one after another.
type Plane struct {
	cfg   Config
	mu    sync.Mutex
	nft   knftables.Interface
	rules *ruleset      // what nftables holds; nil: unknown
	last  *netplan.Plan // what was applied last; nil: nothing yet

	committed uint32 // the generation of nftables that rules is
}

// New checks that nftables works in the host's namespace, and changes nothing.
func New(cfg Config) (*Plane, error) {
	if cfg.Netns == "" {
		cfg.Netns = netns.Self
	}
	if cfg.Uplink == "" {
		cfg.Uplink = "eth0"
	}
	if cfg.PinDir == "" {
		return nil, errors.New("open data plane: no folder for pods' namespaces")
	}
	p := &Plane{cfg: cfg}
	err := netns.Do(cfg.Netns, func() error {
		var err error
		p.nft, err = knftables.New(knftables.IPv4Family, tableName)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open data plane: %w", err)
	}
	return p, nil
}

// Pin is the path of a pod's namespace.
func (p *Plane) Pin(namespace string) string { return filepath.Join(p.cfg.PinDir, namespace) }

// Apply makes the kernel match the plan. Parts that the kernel says are whole are left alone; when the plan is the one
// applied last, or the first, they are looked at in depth.
func (p *Plane) Apply(ctx context.Context, plan netplan.Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	deep := p.last == nil || reflect.DeepEqual(*p.last, plan)
	err := p.apply(ctx, plan, deep)
	if err != nil && !deep {
		// The step from the last plan stumbles where others changed something: make all of it anew.
		if again := p.apply(ctx, plan, true); again == nil {
			err = nil
		}
	}
	if err != nil {
		p.last, p.rules = nil, nil
		return err
	}
	p.last = &plan
	return nil
}

func (p *Plane) apply(ctx context.Context, plan netplan.Plan, deep bool) error {
	for _, id := range plan.Namespaces {
		if err := p.ensureNamespace(id, deep); err != nil {
			return err
		}
	}
	if deep {
		if err := netns.Do(p.cfg.Netns, hostSysctls); err != nil {
			return err
		}
	}
	err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		found, err := linksByAlias(h)
		if err != nil {
			return err
		}
		for _, b := range plan.Bridges {
			if err := p.ensureBridge(h, b, found[bridgeAlias(b.ID)]); err != nil {
				return fmt.Errorf("make bridge of network %s: %w", b.ID, err)
			}
			delete(found, bridgeAlias(b.ID))
		}
		for _, port := range plan.Ports {
			if err := p.ensurePort(h, port, found, deep); err != nil {
				return fmt.Errorf("make port of endpoint %s: %w", port.ID, err)
			}
		}
		return removeLinks(h, found)
	})
	if err != nil {
		return err
	}
	if err := p.removeNamespaces(plan.Namespaces); err != nil {
		return err
	}
	if err := p.applyRules(ctx, plan, deep); err != nil {
		return fmt.Errorf("set nftables table %q: %w", tableName, err)
	}
	return nil
}

func (p *Plane) ensureNamespace(id string, deep bool) error {
	if strings.ContainsAny(id, "/\x00") || strings.HasPrefix(id, ".") || id == "" {
		return fmt.Errorf("make namespace %q: not a name", id)
	}
	pin := p.Pin(id)
	made, err := netns.Ensure(pin)
	if err != nil || !made && !deep {
		return err
	}
	return netns.Do(pin, podSysctls)
}

// podSysctls let programs without privileges do what Windows lets them: bind low ports, and ping.
func podSysctls() error {
	return sysctls([][2]string{
		{"net/ipv4/ip_unprivileged_port_start", "0"},
		{"net/ipv4/ping_group_range", "0\t2147483647"},
	})
}

// hostSysctls make the host a router. A new namespace inherits the machine's settings, whatever they are.
func hostSysctls() error {
	err := sysctls([][2]string{
		{"net/ipv4/ip_forward", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/all/send_redirects", "0"},
	})
	// With br_netfilter loaded, bridged packets would pass the rules twice.
	if _, statErr := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); statErr == nil {
		err = errors.Join(err, sysctls([][2]string{{"net/bridge/bridge-nf-call-iptables", "0"}}))
	}
	return err
}

func sysctls(list [][2]string) error {
	for _, kv := range list {
		if _, err := netns.Sysctl(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// removeNamespaces unpins what the plan does not name.
func (p *Plane) removeNamespaces(keep []string) error {
	names, err := p.pins()
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, id := range keep {
		kept[id] = true
	}
	for _, name := range names {
		if !kept[name] {
			err = errors.Join(err, netns.Remove(p.Pin(name)))
		}
	}
	return err
}

func (p *Plane) pins() ([]string, error) {
	entries, err := os.ReadDir(p.cfg.PinDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list pods' namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Stats reads a port's counters, as the pod sees them: what the host's end sent, the pod received.
func (p *Plane) Stats(_ context.Context, port string) (netplan.Stats, error) {
	var st netplan.Stats
	err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(portLink(port))
		if err != nil {
			return err
		}
		s := link.Attrs().Statistics
		if s == nil {
			return errors.New("the kernel gave no statistics")
		}
		st = netplan.Stats{
			RxBytes: s.TxBytes, TxBytes: s.RxBytes, RxPackets: s.TxPackets, TxPackets: s.RxPackets,
			RxDropped: s.TxDropped, TxDropped: s.RxDropped,
		}
		return nil
	})
	if err != nil {
		return st, fmt.Errorf("read statistics of endpoint %s: %w", port, err)
	}
	return st, nil
}
