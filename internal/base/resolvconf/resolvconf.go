// Package resolvconf owns what is known of resolv.conf(5): reading one, finding the machine's real name servers, and
// writing one. It resolves nothing.
package resolvconf

import (
	"net/netip"
	"os"
	"strings"
)

// Config is the meaning of a resolv.conf file.
type Config struct {
	// Servers are the addresses of name servers, the one to ask first first.
	Servers []netip.Addr
	// Searches are the suffixes that are tried with short names; Options are as they stand in the file.
	Searches, Options []string
}

// files are where a machine's name servers are found, the first that names a usable one counts. systemd-resolved and
// NetworkManager put a server of their own on the loopback into the first one and keep the real servers in a file of
// theirs: systemd-resolved.service(8), NetworkManager.conf(5) under rc-manager.
func files() []string {
	return []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"}
}

// Machine is the machine's configuration as far as it means something in another network namespace: servers on the
// loopback do not. It has no servers if none of the machine's files names one.
func Machine() Config { return first(files()) }

func first(paths []string) Config {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if c := Parse(string(data)).Elsewhere(); len(c.Servers) > 0 {
			return c
		}
	}
	return Config{}
}

// Parse reads the text of a resolv.conf. As in the C library, a later search or domain line replaces an earlier one,
// and what is not understood is skipped.
func Parse(text string) Config {
	var c Config
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") || strings.HasPrefix(fields[0], ";") {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if addr, err := netip.ParseAddr(fields[1]); err == nil {
				c.Servers = append(c.Servers, addr)
			}
		case "domain":
			c.Searches = fields[1:2]
		case "search":
			c.Searches = fields[1:]
		case "options":
			c.Options = append(c.Options, fields[1:]...)
		}
	}
	return c
}

// Elsewhere is the configuration without the servers that only the machine itself reaches: those on the loopback, and
// those of a link-local zone.
func (c Config) Elsewhere() Config {
	var servers []netip.Addr
	for _, s := range c.Servers {
		if !s.IsLoopback() && !s.IsUnspecified() && s.Zone() == "" {
			servers = append(servers, s)
		}
	}
	c.Servers = servers
	return c
}

// String is the text of the file.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.Servers {
		b.WriteString("nameserver " + s.String() + "\n")
	}
	if len(c.Searches) > 0 {
		b.WriteString("search " + strings.Join(c.Searches, " ") + "\n")
	}
	if len(c.Options) > 0 {
		b.WriteString("options " + strings.Join(c.Options, " ") + "\n")
	}
	return b.String()
}
