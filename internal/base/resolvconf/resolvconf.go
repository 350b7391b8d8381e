// Package resolvconf reads and writes resolv.conf(5), and finds the machine's real name servers. It resolves nothing.
package resolvconf

import (
	"net/netip"
	"os"
	"strings"
)

// Config is the meaning of a resolv.conf file.
type Config struct {
	// Servers are the addresses of name servers, in the order in which they are asked.
	Servers []netip.Addr
	// Searches are the suffixes that are tried with short names; Options are the options as written in the file.
	Searches, Options []string
}

// files returns the files with a machine's name servers; the first file that names a usable one counts.
// systemd-resolved and NetworkManager put a server of their own on the loopback into the first file and write the real
// servers to a file of theirs: systemd-resolved.service(8), NetworkManager.conf(5) under rc-manager.
func files() []string {
	return []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"}
}

// Machine returns the parts of the machine's configuration that are valid in another network namespace: servers on the
// loopback are not. It has no servers if none of the machine's files names a usable one.
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
// and lines that are not understood are skipped.
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

// Elsewhere returns the configuration without the servers that only the machine itself reaches: those on the loopback,
// and those with a link-local zone.
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

// String returns the text of the file.
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
