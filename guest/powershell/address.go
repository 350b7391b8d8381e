package powershell

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// familyOf is the System.Net.Sockets.AddressFamily of an address.
func familyOf(a netip.Addr) value {
	if a.Is4() {
		return enum{enumOf(familyName), 2}
	}
	return enum{enumOf(familyName), 23}
}

const (
	addressName = "System.Net.IPAddress"
	familyName  = "Net.Sockets.AddressFamily"
)

// addressClass is System.Net.IPAddress (https://learn.microsoft.com/en-us/dotnet/api/system.net.ipaddress).
func addressClass() *class {
	of := func(name string, get func(a netip.Addr) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[netip.Addr](v)), nil }}
	}
	is := func(name string, a netip.Addr) field {
		return field{name: name, get: func(*frame, value) (value, error) { return &instance{addressClass(), a}, nil }}
	}
	return &class{
		name:   addressName,
		others: []string{"ipaddress"},
		fields: []field{
			is("Any", netip.IPv4Unspecified()), is("Loopback", netip.AddrFrom4([4]byte{127, 0, 0, 1})),
			is("IPv6Any", netip.IPv6Unspecified()), is("IPv6Loopback", netip.IPv6Loopback()),
		},
		calls: []routine{
			{name: "Parse", least: 1, most: 1, do: func(c *dotCall) (value, error) { return parseAddress(c.text(0)) }},
			{name: "IsLoopback", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return own[netip.Addr](c.arg(0)).IsLoopback(), nil
			}},
		},
		text: func(v any) string { return v.(netip.Addr).String() },
		same: func(v any) string { return v.(netip.Addr).String() },
		props: []field{
			of("AddressFamily", familyOf),
			of("IPAddressToString", func(a netip.Addr) value { return a.String() }),
			of("IsIPv6LinkLocal", func(a netip.Addr) value { return a.Is6() && a.IsLinkLocalUnicast() }),
			of("IsIPv6Multicast", func(a netip.Addr) value { return a.Is6() && a.IsMulticast() }),
			of("IsIPv4MappedToIPv6", func(a netip.Addr) value { return a.Is4In6() }),
		},
		methods: []routine{{name: "GetAddressBytes", do: func(c *dotCall) (value, error) {
			return byteList(own[netip.Addr](c.on).AsSlice()), nil
		}}},
	}
}

// parseAddress is an address of a text.
func parseAddress(s string) (value, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return nil, raise("System.FormatException", "An invalid IP address was specified.")
	}
	return &instance{addressClass(), a}, nil
}

// uriClass is System.Uri, of absolute URLs (https://learn.microsoft.com/en-us/dotnet/api/system.uri).
func uriClass() *class {
	of := func(name string, get func(u *url.URL) value) field {
		return field{name: name, get: func(_ *frame, v value) (value, error) { return get(own[*url.URL](v)), nil }}
	}
	return &class{
		name:   "System.Uri",
		others: []string{"uri"},
		make: &routine{least: 1, most: 1, do: func(c *dotCall) (value, error) {
			u, err := url.Parse(c.text(0))
			if err != nil || u.Scheme == "" {
				return nil, raise("System.UriFormatException",
					"Invalid URI: The format of the URI could not be determined.")
			}
			if u.Host == "" || u.User != nil {
				return nil, thrown("A Uri without a host, or with a user, is not part of Mullion's PowerShell.")
			}
			return &instance{uriClass(), u}, nil
		}},
		text: func(v any) string { return uriText(v.(*url.URL), true) },
		same: func(v any) string { return uriText(v.(*url.URL), false) },
		props: []field{
			of("AbsolutePath", func(u *url.URL) value { return pathOf(u) }),
			of("LocalPath", func(u *url.URL) value { return orSlash(u.Path) }),
			of("AbsoluteUri", func(u *url.URL) value { return uriText(u, false) }),
			of("OriginalString", func(u *url.URL) value { return u.String() }),
			of("Scheme", func(u *url.URL) value { return u.Scheme }),
			of("Host", func(u *url.URL) value { return lower(u.Hostname()) }),
			of("Authority", authority),
			of("Port", func(u *url.URL) value { return portOf(u) }),
			of("IsDefaultPort", func(u *url.URL) value { return portOf(u) == portOf(&url.URL{Scheme: u.Scheme}) }),
			of("Query", func(u *url.URL) value { return queryOf(u) }),
			of("PathAndQuery", func(u *url.URL) value { return pathOf(u) + queryOf(u) }),
			of("Fragment", func(u *url.URL) value {
				if u.Fragment == "" {
					return ""
				}
				return "#" + u.EscapedFragment()
			}),
			of("Segments", func(u *url.URL) value {
				out := []value{}
				for _, part := range strings.SplitAfter(pathOf(u), "/") {
					if part != "" {
						out = append(out, part)
					}
				}
				return out
			}),
			of("IsAbsoluteUri", func(*url.URL) value { return true }),
		},
	}
}

func orSlash(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

func pathOf(u *url.URL) string { return orSlash(u.EscapedPath()) }

func queryOf(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// portOf is a URL's port, or the one of its scheme; -1 if it has none.
func portOf(u *url.URL) int64 {
	name := u.Port()
	if name == "" {
		name = u.Scheme
	}
	n, err := net.LookupPort("tcp", map[string]string{"http": "80", "https": "443", "ftp": "21"}[name]+u.Port())
	if err != nil || n == 0 {
		return -1
	}
	return int64(n)
}

// authority is the host, with its port if it is not the scheme's own.
func authority(u *url.URL) value {
	if n := portOf(u); n == portOf(&url.URL{Scheme: u.Scheme}) {
		host := lower(u.Hostname())
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return lower(u.Host)
}

// uriText is a URL as text; readable as a person reads it, with the characters for which its escapes stand.
func uriText(u *url.URL, readable bool) string {
	s := u.Scheme + "://" + text(authority(u))
	path := pathOf(u) + queryOf(u)
	if u.Fragment != "" {
		path += "#" + u.EscapedFragment()
	}
	if !readable {
		return s + path
	}
	return s + unescapedPart(path)
}

// unescapedPart replaces escapes, but for those of characters with a meaning in a URL and of control characters.
func unescapedPart(s string) string {
	var b strings.Builder
	for s != "" {
		before, rest, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			break
		}
		run := "%" + rest
		n := 0
		for len(run) >= n+3 && run[n] == '%' {
			n += 3
		}
		u, err := url.PathUnescape(run[:n])
		if n == 0 || err != nil || strings.ContainsFunc(u, func(r rune) bool {
			return r < ' ' || r == 0x7f || strings.ContainsRune("%#?/\\@:&=+$,;", r) || r == '\uFFFD'
		}) {
			n = max(n, 1)
			u = run[:n]
		}
		b.WriteString(u)
		s = run[n:]
	}
	return b.String()
}

// dnsClass is System.Net.Dns.
func dnsClass() *class {
	addresses := func(c *dotCall) ([]value, error) {
		name := c.text(0)
		if a, err := netip.ParseAddr(name); err == nil {
			return []value{&instance{addressClass(), a}}, nil
		}
		if name == "" {
			name, _ = os.Hostname() // without one, the lookup fails
		}
		found, err := net.DefaultResolver.LookupNetIP(c.f.in.ctx, "ip", name)
		if err != nil {
			return nil, raise("System.Net.Sockets.SocketException", "No such host is known")
		}
		var all []value
		for _, a := range found {
			all = append(all, &instance{addressClass(), a.Unmap()})
		}
		return all, nil
	}
	return &class{name: "System.Net.Dns", calls: []routine{
		{name: "GetHostName", do: func(*dotCall) (value, error) { return os.Hostname() }},
		{name: "GetHostAddresses", least: 1, most: 1, do: func(c *dotCall) (value, error) { return addresses(c) }},
		{name: "GetHostEntry", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			all, err := addresses(c)
			if err != nil {
				return nil, err
			}
			return newObject("host entry").set("HostName", c.text(0)).set("Aliases", []value{}).set("AddressList", all), nil
		}},
	}}
}
