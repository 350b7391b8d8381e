package cri

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// On Windows the HNS endpoint carries a pod's DNS configuration (the pod network puts it there as well); in a container
// here, names are resolved by the C library under Wine, which reads /etc/resolv.conf.

// resolverOptions adapt the C library's resolver:
//   - a server that does not answer is given up sooner, as Windows does (it asks again after 1, 2 and 4 seconds, see
//     https://learn.microsoft.com/en-us/troubleshoot/windows-server/networking/dns-client-resolution-timeouts);
//   - with EDNS a reply ends in an OPT record. Without it a reply may end in a PTR or CNAME record, and Wine 8.0's
//     DnsQuery refuses a reply that ends in a name (dlls/dnsapi/record.c, get_name).
const resolverOptions = "timeout:1 attempts:3 edns0"

// resolvConf returns the path of a pod's resolv.conf.
func (s *Server) resolvConf(sandbox string) string {
	return filepath.Join(s.containerDir(sandbox), "resolv.conf")
}

func (s *Server) writeResolvConf(sb store.Sandbox) error {
	text, err := windowsResolver(podOf(sb).DNS, s.cfg.LinuxNames)
	if err != nil {
		return err
	}
	path := s.resolvConf(sb.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder of sandbox: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write DNS configuration: %w", err)
	}
	return nil
}

// windowsResolver returns the resolv.conf that makes names resolve as in a pod on Windows, which has one DNS suffix,
// the first one of the list, and no resolver options
// (https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows): only a name without a dot
// gets the suffix. The C library has no option to keep a name with a dot from getting it; guest/c/hooks/resolve.c does
// that. With asLinux the rule is lifted: all suffixes and options are written, always with an ndots option, by which
// the hook recognizes this mode.
func windowsResolver(dns DNS, asLinux bool) (string, error) {
	var b strings.Builder
	for _, server := range dns.Servers {
		if _, err := netip.ParseAddr(server); err != nil {
			return "", fmt.Errorf("use DNS server %q: not an address: %w", server, errdefs.ErrInvalidArgument)
		}
		fmt.Fprintf(&b, "nameserver %s\n", server)
	}

	for _, s := range dns.Searches {
		if !oneWord(s) || strings.Contains(s, ",") {
			return "", fmt.Errorf("use DNS suffix %q: not a domain name: %w", s, errdefs.ErrInvalidArgument)
		}
	}

	suffixes, options := dns.Searches, []string{resolverOptions}
	if !asLinux {
		suffixes = suffixes[:min(len(suffixes), 1)]
	}
	if len(suffixes) == 0 {
		suffixes = []string{"."} // no suffix; without a search line the host name's domain would be one
	}

	if asLinux {
		options = append(options, dns.Options...)
		if !slices.ContainsFunc(dns.Options, func(o string) bool { return strings.HasPrefix(o, "ndots:") }) {
			options = append(options, "ndots:1") // resolv.conf(5): the default
		}
	}

	for _, option := range options[1:] {
		if !oneWord(option) {
			return "", fmt.Errorf("use DNS option %q: not a word: %w", option, errdefs.ErrInvalidArgument)
		}
	}

	fmt.Fprintf(&b, "search %s\noptions %s\n", strings.Join(suffixes, " "), strings.Join(options, " "))
	return b.String(), nil
}

func oneWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
