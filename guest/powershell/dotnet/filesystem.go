package dotnet

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

// pathClass returns the class System.IO.Path (https://learn.microsoft.com/en-us/dotnet/api/system.io.path). Both
// slashes separate the parts of a path.
func pathClass() *object.Class {
	of := func(name string, do func(s string) object.Value) object.Method {
		return object.Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				if c.Arg(0) == nil {
					return nil, nil
				}
				return do(c.Text(0)), nil
			},
		}
	}

	return &object.Class{
		Name: "System.IO.Path",
		Fields: []object.Field{
			{
				Name: "DirectorySeparatorChar",
				Get: func(f *session.State, _ object.Value) (object.Value, error) {
					return f.Separator(), nil
				},
			},
			{
				Name: "PathSeparator",
				Get: func(f *session.State, _ object.Value) (object.Value, error) {
					if f.Windows() {
						return ";", nil
					}
					return ":", nil
				},
			},
		},
		Calls: []object.Method{
			{Name: "Combine", Most: 16, Do: func(c *object.Call) (object.Value, error) { return combine(c), nil }},
			of("GetFileName", func(s string) object.Value { return FileName(s) }),
			of("GetExtension", func(s string) object.Value { return filepath.Ext(FileName(s)) }),
			of("HasExtension", func(s string) object.Value { return len(filepath.Ext(FileName(s))) > 1 }),
			of("GetFileNameWithoutExtension", func(s string) object.Value {
				return strings.TrimSuffix(FileName(s), filepath.Ext(FileName(s)))
			}),
			of("IsPathRooted", func(s string) object.Value { return Rooted(s) }),
			{
				Name:  "GetDirectoryName",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					s := c.Text(0)
					if len(FileName(s)) == len(s) || strings.Trim(s, `/\`) == "" {
						return "", nil
					}

					dir := strings.TrimRight(s[:len(s)-len(FileName(s))], `/\`)
					if dir == "" || strings.HasSuffix(dir, ":") {
						dir += c.State.Separator()
					}

					if c.State.Windows() {
						dir = strings.ReplaceAll(dir, "/", `\`)
					}

					return dir, nil
				},
			},
			{
				Name:  "GetFullPath",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					return filepath.Clean(c.State.Path(c.Text(0))), nil
				},
			},
			{Name: "ChangeExtension", Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
				bare := strings.TrimSuffix(c.Text(0), filepath.Ext(FileName(c.Text(0))))
				if c.Arg(1) == nil {
					return bare, nil
				}
				return bare + "." + strings.TrimPrefix(c.Text(1), "."), nil
			}},
			{Name: "GetInvalidFileNameChars", Do: func(*object.Call) (object.Value, error) {
				return badCharacters("\"<>|:*?\\/"), nil
			}},
			{Name: "GetInvalidPathChars", Do: func(*object.Call) (object.Value, error) { return badCharacters("\"<>|"), nil }},
			{Name: "GetTempFileName", Do: func(c *object.Call) (object.Value, error) {
				f, err := os.CreateTemp(cmp.Or(c.State.Env["TMP"], c.State.Env["TEMP"], os.TempDir()), "tmp*.tmp")
				if err != nil {
					return nil, err
				}
				return f.Name(), f.Close()
			}},
			{Name: "GetPathRoot", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				s := c.Text(0)
				n := 0
				if len(s) > 1 && s[1] == ':' {
					n = 2
				}
				if len(s) > n && (s[n] == '/' || s[n] == '\\') {
					n++
				}

				return s[:n], nil
			}},
			{
				Name: "GetTempPath",
				Do: func(c *object.Call) (object.Value, error) {
					for _, name := range []string{"TMP", "TEMP", "USERPROFILE", "TMPDIR"} {
						if dir := c.State.Env[name]; dir != "" {
							return strings.TrimRight(dir, `/\`) + c.State.Separator(), nil
						}
					}
					return nil, object.Thrown("[IO.Path]::GetTempPath without a variable TMP or TEMP is not part of Mullion's PowerShell.")
				},
			},
			{
				Name: "GetRandomFileName",
				Do: func(*object.Call) (object.Value, error) {
					const letters = "abcdefghijklmnopqrstuvwxyz012345"
					b := []byte("........ ...")
					for i := range b {
						n, err := library.Between(0, int64(len(letters)))
						if err != nil {
							return nil, err
						}
						b[i] = letters[n.(int64)]
					}

					b[8] = '.'
					return string(b), nil
				},
			},
		},
	}
}

// badCharacters returns the characters that no name has, those below a blank among them.
func badCharacters(signs string) object.Value {
	out := []object.Value{}
	for _, r := range signs {
		out = append(out, object.Char(r))
	}
	for r := range rune(32) {
		out = append(out, object.Char(r))
	}
	return out
}

// FileName returns what follows a path's last slash or colon.
func FileName(s string) string { return s[strings.LastIndexAny(s, `/\:`)+1:] }

// Rooted reports whether a path begins at a root.
func Rooted(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\`) || (len(s) > 1 && s[1] == ':')
}

// combine joins paths; a rooted one goes before those ahead of it.
func combine(c *object.Call) string {
	path := ""
	args := c.Args
	if list, ok := c.Arg(0).([]object.Value); ok && len(args) == 1 {
		args = list
	}

	for _, one := range args {
		a := object.Text(one)
		switch {
		case Rooted(a) || path == "":
			path = a
		case a == "":
		case strings.HasSuffix(path, "/") || strings.HasSuffix(path, `\`) || strings.HasSuffix(path, ":"):
			path += a
		default:
			path += c.State.Separator() + a
		}
	}

	return path
}

// onFile makes a static method of a file.
func onFile(name string, most int, do func(path string, c *object.Call) (object.Value, error)) object.Method {
	return object.Method{
		Name:  name,
		Least: 1,
		Most:  most,
		Do: func(c *object.Call) (object.Value, error) {
			if c.Text(0) == "" {
				return nil, object.Raise(object.ArgumentException, "Empty path name is not legal.")
			}

			path := c.State.Path(c.Text(0))
			v, err := do(path, c)
			if _, ours := errors.AsType[*object.Leaving](err); ours {
				return nil, err
			}

			if _, known := errors.AsType[*object.Exception](err); known {
				return nil, err
			}

			return v, provider.FileError(path, err)
		},
	}
}

// encoded returns the encoding that an argument names, UTF-8 if there is none. A mark at the beginning is Unicode's.
func encoded(c *object.Call, n int) *stream.Encoding {
	if e := object.Own[*stream.Encoding](c.Arg(n)); e != nil {
		return e
	}
	return stream.UTF8Encoding()
}

// marked returns a text as a file has it: of Encoding.UTF8 and Encoding.Unicode with a mark at its beginning.
func marked(c *object.Call, n int, s string) string {
	if e := object.Own[*stream.Encoding](c.Arg(n)); e != nil {
		if strings.HasPrefix(e.Web, "utf-") {
			s = "\uFEFF" + s
		}
		return string(e.Encode(s))
	}
	return s
}

// fileText reads a file as text.
func fileText(c *object.Call, path string) (string, error) {
	data, err := os.ReadFile(path)
	if text, marked := provider.MarkedText(data); marked {
		return text, err
	}
	return encoded(c, 1).Decode(data), err
}

// fileClass returns the class System.IO.File (https://learn.microsoft.com/en-us/dotnet/api/system.io.file).
func fileClass() *object.Class {
	lines := func(c *object.Call) string {
		var b strings.Builder
		for item := range object.Each(c.Arg(1)) {
			b.WriteString(object.Text(item) + c.State.Newline)
		}
		return b.String()
	}

	return &object.Class{
		Name: "System.IO.File",
		Calls: []object.Method{
			{
				Name:  "Exists",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					info, err := os.Stat(c.State.Path(c.Text(0)))
					return err == nil && !info.IsDir() && c.Text(0) != "", nil
				},
			},
			onFile("ReadAllText", 2, func(path string, c *object.Call) (object.Value, error) {
				return fileText(c,
					path)
			}),
			onFile("ReadAllLines", 2, func(path string, c *object.Call) (object.Value, error) {
				s, err := fileText(c, path)
				out := []object.Value{}
				for line := range strings.Lines(s) {
					out = append(out, strings.TrimRight(line, "\r\n"))
				}
				return out, err
			}),
			onFile("ReadAllBytes", 1, func(path string, _ *object.Call) (object.Value, error) {
				data, err := os.ReadFile(path)
				return object.ByteList(data), err
			}),
			onFile("WriteAllText", 3, func(path string, c *object.Call) (object.Value, error) {
				return nil, provider.WriteFile(path, marked(c, 2, c.Text(1)), os.O_TRUNC, false)
			}),
			onFile("WriteAllLines", 3, func(path string, c *object.Call) (object.Value, error) {
				return nil, provider.WriteFile(path, marked(c, 2, lines(c)), os.O_TRUNC, false)
			}),
			onFile("AppendAllText", 2, func(path string, c *object.Call) (object.Value, error) {
				return nil, provider.WriteFile(path, c.Text(1), os.O_APPEND, false)
			}),
			onFile("WriteAllBytes", 2, func(path string, c *object.Call) (object.Value, error) {
				data, err := object.BytesOf(c.Arg(1))
				if err != nil {
					return nil, err
				}
				return nil, provider.WriteFile(path, string(data), os.O_TRUNC, false)
			}),
			onFile("Delete", 1, func(path string, _ *object.Call) (object.Value, error) {
				if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				return nil, nil
			}),
			onFile("Open", 4, func(path string, c *object.Call) (object.Value, error) {
				return openFile(c, path, c.Arg(1), c.Arg(2), orUsual(c.Arg(3), shareNone))
			}),
			onFile("OpenRead", 1, func(path string, c *object.Call) (object.Value, error) {
				return openFile(c, path, "Open", "Read", shareRead)
			}),
			onFile("OpenWrite", 1, func(path string, c *object.Call) (object.Value, error) {
				return openFile(c, path, "OpenOrCreate", "Write", shareNone)
			}),
			onFile("Create", 1, func(path string, c *object.Call) (object.Value, error) {
				return openFile(c, path, "Create", "ReadWrite", shareNone)
			}),
			onFile("GetLastWriteTime", 1, func(path string, _ *object.Call) (object.Value, error) {
				info, err := os.Stat(path)
				if err != nil {
					return nil, err
				}
				return object.DateTime{At: info.ModTime()}, nil
			}),
			onFile("Copy", 3, func(path string, c *object.Call) (object.Value, error) {
				to := c.State.Path(c.Text(1))
				if _, err := os.Stat(to); err == nil && !object.Truth(c.Arg(2)) {
					return nil, object.Raise("System.IO.IOException", "The file '"+to+"' already exists.")
				}
				return nil, provider.CopyFile(path, to, 0o644, false)
			}),
			onFile("Move", 2, func(path string, c *object.Call) (object.Value, error) {
				to := c.State.Path(c.Text(1))
				if _, err := os.Stat(to); err == nil {
					return nil, object.Raise("System.IO.IOException",
						"Cannot create a file when that file already exists.\n")
				}
				return nil, os.Rename(path, to)
			}),
		},
	}
}

// directoryClass returns the class System.IO.Directory.
func directoryClass() *object.Class {
	list := func(name string, dirs, files bool) object.Method {
		return onFile(name, 3, func(path string, c *object.Call) (object.Value, error) {
			return listed(c, path, dirs, files)
		})
	}

	return &object.Class{
		Name: "System.IO.Directory",
		Calls: []object.Method{
			{
				Name:  "Exists",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					info, err := os.Stat(c.State.Path(c.Text(0)))
					return err == nil && info.IsDir() && c.Text(0) != "", nil
				},
			},
			onFile("CreateDirectory", 1, func(path string, _ *object.Call) (object.Value, error) {
				if err := os.MkdirAll(path, 0o755); err != nil {
					return nil, err
				}
				info, err := os.Lstat(path)
				if err != nil {
					return nil, err
				}
				return provider.Item(path, info), nil
			}),
			onFile("Delete", 2, func(path string, c *object.Call) (object.Value, error) {
				if _, err := os.Stat(path); err != nil {
					return nil, object.Raise("System.IO.DirectoryNotFoundException",
						"Could not find a part of the path '"+path+"'.")
				}
				if object.Truth(c.Arg(1)) {
					return nil, os.RemoveAll(path)
				}
				return nil, os.Remove(path)
			}),
			list("GetFiles", false, true), list("GetDirectories", true, false),
			list("GetFileSystemEntries", true, true), list("EnumerateFiles", false, true), list("EnumerateDirectories", true, false),
			{Name: "GetCurrentDirectory", Do: func(c *object.Call) (object.Value, error) { return c.State.Dir, nil }},
		},
	}
}
