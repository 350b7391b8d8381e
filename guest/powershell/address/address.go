package address

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// FamilyOf returns the System.Net.Sockets.AddressFamily of an address.
func FamilyOf(a netip.Addr) object.Value {
	if a.Is4() {
		return object.Enum{Of: object.EnumOf(object.AddressFamily), N: 2}
	}
	return object.Enum{Of: object.EnumOf(object.AddressFamily), N: 23}
}

// AddressName is the class IPAddress.
const AddressName = "System.Net.IPAddress"

// Class returns the class System.Net.IPAddress (https://learn.microsoft.com/en-us/dotnet/api/system.net.ipaddress).
func Class() *object.Class {
	of := func(name string, get func(a netip.Addr) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[netip.Addr](v)), nil
			},
		}
	}

	is := func(name string, a netip.Addr) object.Field {
		return object.Field{
			Name: name,
			Get: func(*session.State, object.Value) (object.Value, error) {
				return &object.Instance{Of: Class(), V: a}, nil
			},
		}
	}

	return &object.Class{
		Name:   AddressName,
		Others: []string{"ipaddress"},
		Fields: []object.Field{
			is("Any", netip.IPv4Unspecified()), is("Loopback", netip.AddrFrom4([4]byte{127, 0, 0, 1})),
			is("IPv6Any", netip.IPv6Unspecified()), is("IPv6Loopback", netip.IPv6Loopback()),
		},
		Calls: []object.Method{
			{
				Name:  "Parse",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return ParseAddress(c.Text(0))
				},
			},
			object.TryParse(func() object.Value { return nil }, ParseAddress),
			{
				Name:  "IsLoopback",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return object.Own[netip.Addr](c.Arg(0)).IsLoopback(), nil
				},
			},
		},
		Text: func(v any) string { return v.(netip.Addr).String() },
		Same: func(v any) string { return v.(netip.Addr).String() },
		Props: []object.Field{
			of("AddressFamily", FamilyOf),
			of("IPAddressToString", func(a netip.Addr) object.Value { return a.String() }),
			of("IsIPv6LinkLocal", func(a netip.Addr) object.Value { return a.Is6() && a.IsLinkLocalUnicast() }),
			of("IsIPv6Multicast", func(a netip.Addr) object.Value { return a.Is6() && a.IsMulticast() }),
			of("IsIPv4MappedToIPv6", func(a netip.Addr) object.Value { return a.Is4In6() }),
		},
		Methods: []object.Method{{
			Name: "GetAddressBytes",
			Do: func(c *object.Call) (object.Value, error) {
				return object.ByteList(object.Own[netip.Addr](c.On).AsSlice()), nil
			},
		}},
	}
}

// ParseAddress returns an address of a text.
func ParseAddress(s string) (object.Value, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil {
		return nil, object.Raise("System.FormatException", "An invalid IP address was specified.")
	}
	return &object.Instance{Of: Class(), V: a}, nil
}

// URIClass returns the class System.Uri, of absolute URLs (https://learn.microsoft.com/en-us/dotnet/api/system.uri).
func URIClass() *object.Class {
	of := func(name string, get func(u *url.URL) object.Value) object.Field {
		return object.Field{
			Name: name,
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return get(object.Own[*url.URL](v)), nil
			},
		}
	}

	return &object.Class{
		Name:   "System.Uri",
		Others: []string{"uri"},
		Make: &object.Method{
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				u, err := url.Parse(c.Text(0))
				if err != nil || u.Scheme == "" {
					return nil, object.Raise("System.UriFormatException",
						"Invalid URI: The format of the URI could not be determined.")
				}
				if u.Host == "" || u.User != nil {
					return nil, object.Thrown("A Uri without a host, or with a user, is not part of Mullion's PowerShell.")
				}

				return &object.Instance{Of: URIClass(), V: u}, nil
			},
		},
		Text: func(v any) string { return uriText(v.(*url.URL), true) },
		Same: func(v any) string { return uriText(v.(*url.URL), false) },
		Props: []object.Field{
			of("AbsolutePath", func(u *url.URL) object.Value { return pathOf(u) }),
			of("LocalPath", func(u *url.URL) object.Value { return orSlash(u.Path) }),
			of("AbsoluteUri", func(u *url.URL) object.Value { return uriText(u, false) }),
			of("OriginalString", func(u *url.URL) object.Value { return u.String() }),
			of("Scheme", func(u *url.URL) object.Value { return u.Scheme }),
			of("Host", func(u *url.URL) object.Value { return strings.ToLower(u.Hostname()) }),
			of("Authority", authority),
			of("Port", func(u *url.URL) object.Value { return portOf(u) }),
			of("IsDefaultPort", func(u *url.URL) object.Value { return portOf(u) == portOf(&url.URL{Scheme: u.Scheme}) }),
			of("Query", func(u *url.URL) object.Value { return queryOf(u) }),
			of("PathAndQuery", func(u *url.URL) object.Value { return pathOf(u) + queryOf(u) }),
			of("Fragment", func(u *url.URL) object.Value {
				if u.Fragment == "" {
					return ""
				}
				return "#" + u.EscapedFragment()
			}),
			of("Segments", func(u *url.URL) object.Value {
				out := []object.Value{}
				for _, part := range strings.SplitAfter(pathOf(u), "/") {
					if part != "" {
						out = append(out, part)
					}
				}
				return out
			}),
			of("IsAbsoluteUri", func(*url.URL) object.Value { return true }),
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

// portOf returns a URL's port, or the one of its scheme; -1 if it has none.
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

// authority returns the host, with its port if it is not the scheme's own.
func authority(u *url.URL) object.Value {
	if n := portOf(u); n == portOf(&url.URL{Scheme: u.Scheme}) {
		host := strings.ToLower(u.Hostname())
		if strings.Contains(host, ":") {
			return "[" + host + "]"
		}
		return host
	}
	return strings.ToLower(u.Host)
}

// uriText returns a URL as text; readable as a person reads it, with the characters for which its escapes stand.
func uriText(u *url.URL, readable bool) string {
	s := u.Scheme + "://" + object.Text(authority(u))
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

// DNSClass returns the class System.Net.Dns.
func DNSClass() *object.Class {
	addresses := func(c *object.Call) ([]object.Value, error) {
		name := c.Text(0)
		if a, err := netip.ParseAddr(name); err == nil {
			return []object.Value{&object.Instance{Of: Class(), V: a}}, nil
		}
		if name == "" {
			name, _ = os.Hostname() // without one, the lookup fails
		}

		found, err := net.DefaultResolver.LookupNetIP(c.State.Context, "ip", name)
		if err != nil {
			return nil, object.Raise("System.Net.Sockets.SocketException", "No such host is known")
		}

		var all []object.Value
		for _, a := range found {
			all = append(all, &object.Instance{Of: Class(), V: a.Unmap()})
		}

		return all, nil
	}

	entry := func(c *object.Call) (object.Value, error) {
		all, err := addresses(c)
		if err != nil {
			return nil, err
		}
		name := c.Text(0)
		if _, err := netip.ParseAddr(name); err != nil {
			name = canonical(name)
		}
		return object.New("host entry").Set("HostName", name).Set("Aliases", []object.Value{}).
			Set("AddressList", all), nil
	}

	return &object.Class{
		Name: "System.Net.Dns",
		Calls: []object.Method{
			{Name: "GetHostName", Do: func(*object.Call) (object.Value, error) { return os.Hostname() }},
			{
				Name:  "GetHostAddresses",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return addresses(c)
				},
			},
			{Name: "GetHostEntry", Least: 1, Most: 1, Do: entry},
			{Name: "GetHostByName", Least: 1, Most: 1, Do: entry},
		},
	}
}
