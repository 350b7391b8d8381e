package dotnet

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
)

// environmentClass returns the class System.Environment
// (https://learn.microsoft.com/en-us/dotnet/api/system.environment).
func environmentClass() *object.Class {
	of := func(name string, get func(f *session.State) (object.Value, error)) object.Field {
		return object.Field{
			Name: name,
			Get: func(f *session.State, _ object.Value) (object.Value, error) {
				return get(f)
			},
		}
	}

	fromVariable := func(name, instead string) object.Field {
		return of(name, func(f *session.State) (object.Value, error) {
			if v := f.Env[instead]; v != "" {
				return v, nil
			}
			return nil, object.Thrown("[Environment]::%s without the variable %s is not part of Mullion's PowerShell.", name, instead)
		})
	}

	return &object.Class{
		Name:   "System.Environment",
		Others: []string{"environment"},
		Fields: []object.Field{
			fromVariable("MachineName", "COMPUTERNAME"), fromVariable("UserName", "USERNAME"),
			of("NewLine", func(f *session.State) (object.Value, error) { return f.Newline, nil }),
			of("CurrentDirectory", func(f *session.State) (object.Value, error) { return f.Dir, nil }),
			of("ProcessorCount", func(f *session.State) (object.Value, error) {
				return Converted("int", cmp.Or(f.Env["NUMBER_OF_PROCESSORS"], "1"))
			}),
			of("Is64BitOperatingSystem", func(*session.State) (object.Value, error) { return true, nil }),
			of("Is64BitProcess", func(*session.State) (object.Value, error) { return true, nil }),
			of("ExitCode", func(*session.State) (object.Value, error) { return int64(0), nil }),
			of("OSVersion", func(f *session.State) (object.Value, error) {
				version, err := f.System.Version()
				if err != nil {
					return nil, err
				}
				o := object.New("operating system").Set("Platform", "Win32NT").Set("ServicePack", "").
					Set("Version", library.VersionValue(version)).Set("VersionString", "Microsoft Windows NT "+version)
				return o, nil
			}),
		},
		Calls: []object.Method{
			{
				Name:  "GetEnvironmentVariable",
				Least: 1,
				Most:  2,
				Do: func(c *object.Call) (object.Value, error) {
					kept, err := kept(c, 1)
					if err != nil {
						return nil, err
					}
					if v, there := kept.get(c.Text(0)); there {
						return v, nil
					}
					return nil, nil
				},
			},
			{
				Name:  "SetEnvironmentVariable",
				Least: 2,
				Most:  3,
				Do: func(c *object.Call) (object.Value, error) {
					kept, err := kept(c, 2)
					if err != nil {
						return nil, err
					}
					return nil, kept.set(c.Text(0), object.Text(c.Arg(1)))
				},
			},
			{
				Name:  "ExpandEnvironmentVariables",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return provider.ExpandPercent(c.Text(0), c.State.Env), nil
				},
			},
			{
				Name: "GetEnvironmentVariables",
				Most: 1,
				Do: func(c *object.Call) (object.Value, error) {
					kept, err := kept(c, 0)
					if err != nil {
						return nil, err
					}

					t := object.NewTable(false)
					for name, v := range kept.all() {
						t.Set(name, v)
					}

					slices.SortFunc(t.Keys, func(a, b object.Value) int {
						return strings.Compare(object.Text(a), object.Text(b))
					})

					return t, nil
				},
			},
			{
				Name:  "Exit",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					n, err := c.Whole(0)
					if err != nil {
						return nil, err
					}
					return nil, &object.Leaving{Word: "exit", Code: int(n)}
				},
			},
		},
	}
}

// keptVariables are the variables of a place: of the process, or those that Windows keeps in the registry for the
// machine or the user, which programs get that are started later.
type keptVariables struct {
	state *session.State
	key   string // of the registry, or "" for the process
}

// kept returns the variables that an argument names (EnvironmentVariableTarget), without it the process's.
func kept(c *object.Call, n int) (keptVariables, error) {
	k := keptVariables{state: c.State}
	if len(c.Args) <= n {
		return k, nil
	}

	switch strings.ToLower(c.Text(n)) {
	case "process", "0":
	case "user", "1":
		k.key = `HKEY_CURRENT_USER\Environment`
	case "machine", "2":
		k.key = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
	default:
		return k, object.CannotConvert(c.Arg(n), "System.EnvironmentVariableTarget")
	}

	return k, nil
}

// all returns the variables by their names.
func (k keptVariables) all() map[string]object.Value {
	all := map[string]object.Value{}
	if k.key == "" {
		for name, v := range k.state.Env {
			all[k.state.Spelled(name)] = v
		}
		return all
	}

	_, values, err := k.state.System.Registry.Read(k.key)
	if err != nil {
		return all // as without the key
	}

	for _, v := range values {
		if got, err := provider.Value(v, k.state.Env); err == nil {
			all[v.Name] = got
		}
	}

	return all
}

func (k keptVariables) get(name string) (v object.Value, there bool) {
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
		return object.Raise(object.ArgumentException,
			"Environment variable name cannot be empty, or contain equal character.")
	}
	if k.key == "" {
		k.state.SetEnvironment(name, v)
		return nil
	}

	calls := k.state.System.Registry
	err := error(nil)
	if v == "" {
		if err = calls.RemoveValue(k.key, name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else if err = calls.Create(k.key); err == nil {
		err = calls.Set(k.key, system.RegistryValue{
			Name: name,
			Kind: system.KindString,
			Data: system.TextData(v),
		})
	}

	if errors.Is(err, fs.ErrPermission) {
		return object.Raise("System.Security.SecurityException", "Requested registry access is not allowed.")
	}

	return err
}
