package dataplane

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/netns"
)

func (p *space) ensureNamespace(id string, deep bool) error {
	if err := checkName(id); err != nil {
		return err
	}
	pin := p.pin(id)
	made, err := netns.Ensure(pin)
	if err != nil || (!made && !deep) {
		return err
	}
	return netns.Do(pin, podSysctls)
}

func checkName(id string) error {
	if strings.ContainsAny(id, "/\x00") || strings.HasPrefix(id, ".") || id == "" {
		return fmt.Errorf("make namespace %q: not a name", id)
	}
	return nil
}

// podSysctls let programs without privileges do what Windows lets them: bind low ports, and ping. What they send may
// take as many hops as what Windows sends (https://learn.microsoft.com/windows/win32/winsock/ipproto-ip-socket-options,
// IP_TTL).
func podSysctls() error {
	err := sysctls([][2]string{
		{"net/ipv4/ip_default_ttl", "128"},
		{"net/ipv4/ip_unprivileged_port_start", "0"},
		{"net/ipv4/ping_group_range", "0\t2147483647"},
	})
	return errors.Join(err, sysctls6("all"), sysctls6("default"))
}

// hostSysctls make the host a router. A new namespace inherits the machine's settings, whatever they are.
func hostSysctls() error {
	err := sysctls([][2]string{
		{"net/ipv4/ip_forward", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/all/send_redirects", "0"},
	})

	if _, statErr := os.Stat("/proc/sys/net/ipv6"); statErr == nil {
		err = errors.Join(err, sysctls6("all"), sysctls6("default"),
			sysctls([][2]string{{"net/ipv6/conf/all/forwarding", "1"}}))
	}

	// With br_netfilter loaded, bridged packets would pass the rules twice.
	for _, key := range []string{"net/bridge/bridge-nf-call-iptables", "net/bridge/bridge-nf-call-ip6tables"} {
		if _, statErr := os.Stat("/proc/sys/" + key); statErr == nil {
			err = errors.Join(err, sysctls([][2]string{{key, "0"}}))
		}
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

// removeNamespaces unpins the namespaces that are not in keep.
func (p *space) removeNamespaces(keep map[string]bool) error {
	names, err := p.pins()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !keep[name] {
			err = errors.Join(err, netns.Remove(p.pin(name)))
		}
	}
	return err
}

// pins returns the names of the pins of pods' namespaces.
func (p *space) pins() ([]string, error) {
	names, err := p.allPins()
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, apartPin) }), err
}

func (p *space) allPins() ([]string, error) {
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
