package object

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/session"
)

// FamilyOf is the System.Net.Sockets.AddressFamily of an address.
func FamilyOf(a netip.Addr) Value {
	if a.Is4() {
		return Enum{EnumOf(familyName), 2}
	}
	return Enum{EnumOf(familyName), 23}
}

const (
	// AddressName is the class IPAddress.
	AddressName = "System.Net.IPAddress"
	familyName  = "Net.Sockets.AddressFamily"
)

// AddressClass is System.Net.IPAddress (https://learn.microsoft.com/en-us/dotnet/api/system.net.ipaddress).
func AddressClass() *Class {
	of := func(name string, get func(a netip.Addr) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[netip.Addr](v)), nil
			},
		}
	}
	is := func(name string, a netip.Addr) Field {
		return Field{
			Name: name,
			Get: func(*session.State, Value) (Value, error) {
				return &Instance{AddressClass(), a}, nil
			},
		}
	}
	return &Class{
		Name:   AddressName,
		Others: []string{"ipaddress"},
		Fields: []Field{
			is("Any", netip.IPv4Unspecified()), is("Loopback", netip.AddrFrom4([4]byte{127, 0, 0, 1})),
			is("IPv6Any", netip.IPv6Unspecified()), is("IPv6Loopback", netip.IPv6Loopback()),
		},
		Calls: []Method{
			{Name: "Parse", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return ParseAddress(c.Text(0)) }},
			TryParse(nothing, ParseAddress),
			{
				Name:  "IsLoopback",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					return Own[netip.Addr](c.Arg(0)).IsLoopback(), nil
				},
			},
		},
		Text: func(v any) string { return v.(netip.Addr).String() },
		Same: func(v any) string { return v.(netip.Addr).String() },
		Props: []Field{
			of("AddressFamily", FamilyOf),
			of("IPAddressToString", func(a netip.Addr) Value { return a.String() }),
			of("IsIPv6LinkLocal", func(a netip.Addr) Value { return a.Is6() && a.IsLinkLocalUnicast() }),
			of("IsIPv6Multicast", func(a netip.Addr) Value { return a.Is6() && a.IsMulticast() }),
			of("IsIPv4MappedToIPv6", func(a netip.Addr) Value { return a.Is4In6() }),
		},
		Methods: []Method{{
			Name: "GetAddressBytes",
			Do: func(c *Call) (Value, error) {
				return ByteList(Own[netip.Addr](c.On).AsSlice()), nil
			},
		}},
	}
}

// ParseAddress is an address of a text.
func ParseAddress(s string) (Value, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return nil, Raise("System.FormatException", "An invalid IP address was specified.")
	}
	return &Instance{AddressClass(), a}, nil
}

// URIClass is System.Uri, of absolute URLs (https://learn.microsoft.com/en-us/dotnet/api/system.uri).
func URIClass() *Class {
	of := func(name string, get func(u *url.URL) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[*url.URL](v)), nil
			},
		}
	}
	return &Class{
		Name:   "System.Uri",
		Others: []string{"uri"},
		Make: &Method{
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				u, err := url.Parse(c.Text(0))
				if err != nil || u.Scheme == "" {
					return nil, Raise("System.UriFormatException",
						"Invalid URI: The format of the URI could not be determined.")
				}
				if u.Host == "" || u.User != nil {
					return nil, Thrown("A Uri without a host, or with a user, is not part of Mullion's PowerShell.")
				}
				return &Instance{URIClass(), u}, nil
			},
		},
		Text: func(v any) string { return uriText(v.(*url.URL), true) },
		Same: func(v any) string { return uriText(v.(*url.URL), false) },
		Props: []Field{
			of("AbsolutePath", func(u *url.URL) Value { return pathOf(u) }),
			of("LocalPath", func(u *url.URL) Value { return orSlash(u.Path) }),
			of("AbsoluteUri", func(u *url.URL) Value { return uriText(u, false) }),
			of("OriginalString", func(u *url.URL) Value { return u.String() }),
			of("Scheme", func(u *url.URL) Value { return u.Scheme }),
			of("Host", func(u *url.URL) Value { return strings.ToLower(u.Hostname()) }),
			of("Authority", authority),
			of("Port", func(u *url.URL) Value { return portOf(u) }),
			of("IsDefaultPort", func(u *url.URL) Value { return portOf(u) == portOf(&url.URL{Scheme: u.Scheme}) }),
			of("Query", func(u *url.URL) Value { return queryOf(u) }),
			of("PathAndQuery", func(u *url.URL) Value { return pathOf(u) + queryOf(u) }),
			of("Fragment", func(u *url.URL) Value {
				if u.Fragment == "" {
					return ""
				}
				return "#" + u.EscapedFragment()
			}),
			of("Segments", func(u *url.URL) Value {
				out := []Value{}
				for _, part := range strings.SplitAfter(pathOf(u), "/") {
					if part != "" {
						out = append(out, part)
					}
				}
				return out
			}),
			of("IsAbsoluteUri", func(*url.URL) Value { return true }),
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
func authority(u *url.URL) Value {
	if n := portOf(u); n == portOf(&url.URL{Scheme: u.Scheme}) {
		host := strings.ToLower(u.Hostname())
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return strings.ToLower(u.Host)
}

// uriText is a URL as text; readable as a person reads it, with the characters for which its escapes stand.
func uriText(u *url.URL, readable bool) string {
	s := u.Scheme + "://" + Text(authority(u))
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

// DNSClass is System.Net.Dns.
func DNSClass() *Class {
	addresses := func(c *Call) ([]Value, error) {
		name := c.Text(0)
		if a, err := netip.ParseAddr(name); err == nil {
			return []Value{&Instance{AddressClass(), a}}, nil
		}
		if name == "" {
			name, _ = os.Hostname() // without one, the lookup fails
		}
		found, err := net.DefaultResolver.LookupNetIP(c.State.Context, "ip", name)
		if err != nil {
			return nil, Raise("System.Net.Sockets.SocketException", "No such host is known")
		}
		var all []Value
		for _, a := range found {
			all = append(all, &Instance{AddressClass(), a.Unmap()})
		}
		return all, nil
	}
	return &Class{
		Name: "System.Net.Dns",
		Calls: []Method{
			{Name: "GetHostName", Do: func(*Call) (Value, error) { return os.Hostname() }},
			{Name: "GetHostAddresses", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return addresses(c) }},
			{
				Name:  "GetHostEntry",
				Least: 1,
				Most:  1,
				Do: func(c *Call) (Value, error) {
					all, err := addresses(c)
					if err != nil {
						return nil, err
					}
					return New("host entry").Set("HostName", c.Text(0)).Set("Aliases", []Value{}).
						Set("AddressList", all), nil
				},
			},
		},
	}
}
