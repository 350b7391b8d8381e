package powershell

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// environmentClass is System.Environment (https://learn.microsoft.com/en-us/dotnet/api/system.environment).
func environmentClass() *class {
	of := func(name string, get func(f *frame) (value, error)) field {
		return field{name: name, get: func(f *frame, _ value) (value, error) { return get(f) }}
	}
	fromVariable := func(name, instead string) field {
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
			fromVariable("MachineName", "COMPUTERNAME"), fromVariable("UserName", "USERNAME"),
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
					set("Version", versionValue(version)).set("VersionString", "Microsoft Windows NT "+version)
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
				return nil, c.f.assign(variable{name: c.text(0), env: true}, c.arg(1))
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

// expandPercent replaces %NAME% by the variable's value; names without a variable stay.
func expandPercent(s string, env map[string]string) string {
	return regexp.MustCompile(`%[^%]+%`).ReplaceAllStringFunc(s, func(name string) string {
		if v, there := env[strings.ToUpper(strings.Trim(name, "%"))]; there {
			return v
		}
		return name
	})
}
