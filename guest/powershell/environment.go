package powershell

import (
	"cmp"
	"errors"
	"io/fs"
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
				kept, err := c.kept(1)
				if err != nil {
					return nil, err
				}
				if v, there := kept.get(c.text(0)); there {
					return v, nil
				}
				return nil, nil
			}},
			{name: "SetEnvironmentVariable", least: 2, most: 3, do: func(c *dotCall) (value, error) {
				kept, err := c.kept(2)
				if err != nil {
					return nil, err
				}
				return nil, kept.set(c.text(0), text(c.arg(1)))
			}},
			{name: "ExpandEnvironmentVariables", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return expandPercent(c.text(0), c.f.in.env), nil
			}},
			{name: "GetEnvironmentVariables", most: 1, do: func(c *dotCall) (value, error) {
				kept, err := c.kept(0)
				if err != nil {
					return nil, err
				}
				t := newTable(false)
				for name, v := range kept.all() {
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

// keptVariables are the variables of a place: of the process, or those that Windows keeps in the registry for the
// machine or the user, which programs get that are started later.
type keptVariables struct {
	f   *frame
	key string // of the registry, or "" for the process
}

// kept are the variables that an argument names (EnvironmentVariableTarget), without it the process's.
func (c *dotCall) kept(n int) (keptVariables, error) {
	k := keptVariables{f: c.f}
	if len(c.args) <= n {
		return k, nil
	}
	switch lower(c.text(n)) {
	case "process", "0":
	case "user", "1":
		k.key = `HKEY_CURRENT_USER\Environment`
	case "machine", "2":
		k.key = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	default:
		return k, cannotConvert(c.arg(n), "System.EnvironmentVariableTarget")
	}
	return k, nil
}

// all are the variables by their names.
func (k keptVariables) all() map[string]value {
	all := map[string]value{}
	if k.key == "" {
		for name, v := range k.f.in.env {
			all[name] = v
		}
		return all
	}
	_, values, err := k.f.in.session.system().registry.read(k.key)
	if err != nil {
		return all // as without the key
	}
	for _, v := range values {
		if got, err := v.value(k.f.in.env); err == nil {
			all[v.name] = got
		}
	}
	return all
}

func (k keptVariables) get(name string) (v value, there bool) {
	for n, v := range k.all() {
		if strings.EqualFold(n, name) {
			return v, true
		}
	}
	return nil, false
}

// set sets a variable; nothing removes it.
func (k keptVariables) set(name, v string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return raise(argumentException, "Environment variable name cannot be empty, or contain equal character.")
	}
	if k.key == "" {
		return k.f.assign(variable{name: name, env: true}, v)
	}
	calls := k.f.in.session.system().registry
	err := error(nil)
	if v == "" {
		if err = calls.removeValue(k.key, name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = calls.create(k.key); err == nil {
		err = calls.set(k.key, registryValue{name, kindString, textData(v)})
	}
	if errors.Is(err, fs.ErrPermission) {
		return raise("System.Security.SecurityException", "Requested registry access is not allowed.")
	}
	return err
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
