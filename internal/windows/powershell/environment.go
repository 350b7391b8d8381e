package powershell

import (
	"cmp"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
)

// environmentClass is System.Environment (https://learn.microsoft.com/en-us/dotnet/api/system.environment).
func environmentClass() *class {
	of := func(name string, get func(f *frame) (value, error)) field {
		return field{name: name, get: func(f *frame, _ value) (value, error) { return get(f) }}
	}
	variable := func(name, instead string) field {
		return of(name, func(f *frame) (value, error) {
			if v := f.in.env[instead]; v != "" {
				return v, nil
			}
			return nil, thrown("[Environment]::%s without the variable %s is not part of Mullion's PowerShell.", name, instead)
		})
	}
	own := func(c *dotCall, n int) error {
		if len(c.args) > n && !strings.EqualFold(c.text(n), "process") {
			return thrown("The environment of %s, other than the process, is not part of Mullion's PowerShell.", c.text(n))
		}
		return nil
	}
	return &class{
		name:   "System.Environment",
		others: []string{"environment"},
		fields: []field{
			variable("MachineName", "COMPUTERNAME"), variable("UserName", "USERNAME"),
			of("NewLine", func(f *frame) (value, error) { return f.in.session.Newline, nil }),
			of("CurrentDirectory", func(f *frame) (value, error) { return f.in.dir, nil }),
			of("ProcessorCount", func(f *frame) (value, error) {
				return converted("int", cmp.Or(f.in.env["NUMBER_OF_PROCESSORS"], "1"))
			}),
			of("Is64BitOperatingSystem", func(*frame) (value, error) { return true, nil }),
			of("Is64BitProcess", func(*frame) (value, error) { return true, nil }),
			of("ExitCode", func(*frame) (value, error) { return int64(0), nil }),
			of("OSVersion", func(f *frame) (value, error) {
				version, err := f.in.session.system().version()
				if err != nil {
					return nil, err
				}
				o := newObject("operating system").set("Platform", "Win32NT").set("ServicePack", "").
					set("Version", versionObject(version)).set("VersionString", "Microsoft Windows NT "+version)
				return o, nil
			}),
		},
		calls: []routine{
			{name: "GetEnvironmentVariable", least: 1, most: 2, do: func(c *dotCall) (value, error) {
				if v, there := c.f.in.env[strings.ToUpper(c.text(0))]; there {
					return v, own(c, 1)
				}
				return nil, own(c, 1)
			}},
			{name: "SetEnvironmentVariable", least: 2, most: 3, do: func(c *dotCall) (value, error) {
				if err := own(c, 2); err != nil {
					return nil, err
				}
				return nil, c.f.assign(variable2(c.text(0)), c.arg(1))
			}},
			{name: "ExpandEnvironmentVariables", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return expandPercent(c.text(0), c.f.in.env), nil
			}},
			{name: "GetEnvironmentVariables", do: func(c *dotCall) (value, error) {
				t := newTable(false)
				for name, v := range c.f.in.env {
					t.set(name, v)
				}
				slices.SortFunc(t.keys, func(a, b value) int { return strings.Compare(text(a), text(b)) })
				return t, nil
			}},
			{name: "Exit", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				n, err := c.whole(0)
				if err != nil {
					return nil, err
				}
				return nil, &leaving{word: "exit", code: int(n)}
			}},
		},
	}
}

func variable2(name string) variable { return variable{name: name, env: true} }

// expandPercent replaces %NAME% by the variable's value; names without a variable stay.
func expandPercent(s string, env map[string]string) string {
	return regexp.MustCompile(`%[^%]+%`).ReplaceAllStringFunc(s, func(name string) string {
		if v, there := env[strings.ToUpper(strings.Trim(name, "%"))]; there {
			return v
		}
		return name
	})
}

// versionObject is a System.Version.
func versionObject(s string) *object {
	o := newObject("version")
	parts := strings.Split(s+".0.0", ".")
	for i, name := range []string{"Major", "Minor", "Build", "Revision"} {
		n, _ := parseInteger(parts[i]) // Windows' own numbers
		o.set(name, n)
	}
	o.props["fullname"] = s + ".0" // how it is shown as text
	return o
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

// builderClass is System.Text.StringBuilder.
func builderClass() *class {
	add := func(name string, least int, what func(c *dotCall) (string, error)) routine {
		return routine{name: name, least: least, most: max(least, 1), do: func(c *dotCall) (value, error) {
			s, err := what(c)
			own[*strings.Builder](c.on).WriteString(s)
			return c.on, err
		}}
	}
	format := add("AppendFormat", 2, func(c *dotCall) (string, error) {
		args := c.args[1:]
		if list, ok := c.arg(1).([]value); ok && len(c.args) == 2 {
			args = list
		}
		return composite(c.text(0), args)
	})
	format.most = 32
	return &class{
		name: "System.Text.StringBuilder",
		text: func(v any) string { return v.(*strings.Builder).String() },
		make: &routine{most: 1, do: func(c *dotCall) (value, error) {
			b := &strings.Builder{}
			if s, ok := c.arg(0).(string); ok {
				b.WriteString(s)
			}
			return &instance{builderClass(), b}, nil
		}},
		props: []field{{name: "Length", get: func(_ *frame, v value) (value, error) {
			return int64(len(characters(text(v)))), nil
		}}},
		methods: []routine{
			add("Append", 1, func(c *dotCall) (string, error) { return c.text(0), nil }),
			add("AppendLine", 0, func(c *dotCall) (string, error) { return c.text(0) + c.f.in.session.Newline, nil }),
			format,
			{name: "Clear", do: func(c *dotCall) (value, error) {
				own[*strings.Builder](c.on).Reset()
				return c.on, nil
			}},
		},
	}
}

// regexClass is Regex, of which only Escape is here.
func regexClass() *class {
	return &class{
		name:   "System.Text.RegularExpressions.Regex",
		others: []string{"regex"},
		calls: []routine{{name: "Escape", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			var b strings.Builder
			for _, r := range c.text(0) {
				if i := strings.IndexRune("\t\n\f\r", r); i >= 0 {
					b.WriteString(`\` + "tnfr"[i:i+1])
					continue
				}
				if strings.ContainsRune(`\*+?|{[()^$.# `, r) {
					b.WriteByte('\\')
				}
				b.WriteRune(r)
			}
			return b.String(), nil
		}}},
	}
}
