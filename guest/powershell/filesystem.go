package powershell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pathClass is System.IO.Path (https://learn.microsoft.com/en-us/dotnet/api/system.io.path). Both slashes separate the
// parts of a path.
func pathClass() *class {
	of := func(name string, do func(s string) value) routine {
		return routine{name: name, least: 1, most: 1, do: func(c *dotCall) (value, error) {
			if c.arg(0) == nil {
				return nil, nil
			}
			return do(c.text(0)), nil
		}}
	}
	return &class{
		name: "System.IO.Path",
		fields: []field{
			{name: "DirectorySeparatorChar", get: func(f *frame, _ value) (value, error) { return f.in.separator(), nil }},
			{name: "PathSeparator", get: func(f *frame, _ value) (value, error) {
				if f.in.windows() {
					return ";", nil
				}
				return ":", nil
			}},
		},
		calls: []routine{
			{name: "Combine", most: 16, do: func(c *dotCall) (value, error) { return c.f.in.combine(c), nil }},
			of("GetFileName", func(s string) value { return fileName(s) }),
			of("GetExtension", func(s string) value { return filepath.Ext(fileName(s)) }),
			of("HasExtension", func(s string) value { return len(filepath.Ext(fileName(s))) > 1 }),
			of("GetFileNameWithoutExtension", func(s string) value {
				return strings.TrimSuffix(fileName(s), filepath.Ext(fileName(s)))
			}),
			of("IsPathRooted", func(s string) value { return rooted(s) }),
			{name: "GetDirectoryName", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				s := c.text(0)
				if len(fileName(s)) == len(s) || strings.Trim(s, `/\`) == "" {
					return "", nil
				}
				dir := strings.TrimRight(s[:len(s)-len(fileName(s))], `/\`)
				if dir == "" || strings.HasSuffix(dir, ":") {
					dir += c.f.in.separator()
				}
				if c.f.in.windows() {
					dir = strings.ReplaceAll(dir, "/", `\`)
				}
				return dir, nil
			}},
			{name: "GetFullPath", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				return filepath.Clean(c.f.in.path(c.text(0))), nil
			}},
			{name: "GetTempPath", do: func(c *dotCall) (value, error) {
				for _, name := range []string{"TMP", "TEMP", "USERPROFILE", "TMPDIR"} {
					if dir := c.f.in.env[name]; dir != "" {
						return strings.TrimRight(dir, `/\`) + c.f.in.separator(), nil
					}
				}
				return nil, thrown("[IO.Path]::GetTempPath without a variable TMP or TEMP is not part of Mullion's PowerShell.")
			}},
			{name: "GetRandomFileName", do: func(*dotCall) (value, error) {
				const letters = "abcdefghijklmnopqrstuvwxyz012345"
				b := []byte("........ ...")
				for i := range b {
					n, err := between(0, int64(len(letters)))
					if err != nil {
						return nil, err
					}
					b[i] = letters[n.(int64)]
				}
				b[8] = '.'
				return string(b), nil
			}},
		},
	}
}

func (in *interpreter) separator() string {
	if in.windows() {
		return `\`
	}
	return "/"
}

// fileName is what follows a path's last slash or colon.
func fileName(s string) string { return s[strings.LastIndexAny(s, `/\:`)+1:] }

func rooted(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\`) || len(s) > 1 && s[1] == ':'
}

// combine joins paths; a rooted one goes before those ahead of it.
func (in *interpreter) combine(c *dotCall) string {
	path := ""
	args := c.args
	if list, ok := c.arg(0).([]value); ok && len(args) == 1 {
		args = list
	}
	for _, one := range args {
		a := text(one)
		switch {
		case rooted(a) || path == "":
			path = a
		case a == "":
		case strings.HasSuffix(path, "/") || strings.HasSuffix(path, `\`) || strings.HasSuffix(path, ":"):
			path += a
		default:
			path += in.separator() + a
		}
	}
	return path
}

// fileError is the exception for an error of a file.
func fileError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return raise("System.IO.FileNotFoundException", "Could not find file '"+path+"'.")
	case errors.Is(err, fs.ErrPermission):
		return raise("System.UnauthorizedAccessException", "Access to the path '"+path+"' is denied.")
	}
	return raise("System.IO.IOException", because(path, err).Error())
}

// onFile makes a static method of a file.
func onFile(name string, most int, do func(path string, c *dotCall) (value, error)) routine {
	return routine{name: name, least: 1, most: most, do: func(c *dotCall) (value, error) {
		if c.text(0) == "" {
			return nil, raise(argumentException, "Empty path name is not legal.")
		}
		path := c.f.in.path(c.text(0))
		v, err := do(path, c)
		if _, ours := errors.AsType[*leaving](err); ours {
			return nil, err
		}
		if _, known := errors.AsType[*exception](err); known {
			return nil, err
		}
		return v, fileError(path, err)
	}}
}

// encoded returns the encoding that an argument names, UTF-8 if there is none. A mark at the beginning is Unicode's.
func (c *dotCall) encoded(n int) *encoding {
	if e := own[*encoding](c.arg(n)); e != nil {
		return e
	}
	return utf8Encoding()
}

// marked is a text as a file has it: of Encoding.UTF8 and Encoding.Unicode with a mark at its beginning.
func (c *dotCall) marked(n int, s string) string {
	if e := own[*encoding](c.arg(n)); e != nil {
		if strings.HasPrefix(e.web, "utf-") {
			s = "\uFEFF" + s
		}
		return string(e.encode(s))
	}
	return s
}

// fileText reads a file as text.
func (c *dotCall) fileText(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimPrefix(c.encoded(1).decode(data), "\uFEFF"), err
}

// fileClass is System.IO.File (https://learn.microsoft.com/en-us/dotnet/api/system.io.file).
func fileClass() *class {
	lines := func(c *dotCall) string {
		var b strings.Builder
		for item := range each(c.arg(1)) {
			b.WriteString(text(item) + c.f.in.session.Newline)
		}
		return b.String()
	}
	return &class{name: "System.IO.File", calls: []routine{
		{name: "Exists", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			info, err := os.Stat(c.f.in.path(c.text(0)))
			return err == nil && !info.IsDir() && c.text(0) != "", nil
		}},
		onFile("ReadAllText", 2, func(path string, c *dotCall) (value, error) { return c.fileText(path) }),
		onFile("ReadAllLines", 2, func(path string, c *dotCall) (value, error) {
			s, err := c.fileText(path)
			out := []value{}
			for line := range strings.Lines(s) {
				out = append(out, strings.TrimRight(line, "\r\n"))
			}
			return out, err
		}),
		onFile("ReadAllBytes", 1, func(path string, _ *dotCall) (value, error) {
			data, err := os.ReadFile(path)
			return byteList(data), err
		}),
		onFile("WriteAllText", 3, func(path string, c *dotCall) (value, error) {
			return nil, writeFile(path, c.marked(2, c.text(1)), os.O_TRUNC, false)
		}),
		onFile("WriteAllLines", 3, func(path string, c *dotCall) (value, error) {
			return nil, writeFile(path, c.marked(2, lines(c)), os.O_TRUNC, false)
		}),
		onFile("AppendAllText", 2, func(path string, c *dotCall) (value, error) {
			return nil, writeFile(path, c.text(1), os.O_APPEND, false)
		}),
		onFile("WriteAllBytes", 2, func(path string, c *dotCall) (value, error) {
			data, err := bytesOf(c.arg(1))
			if err != nil {
				return nil, err
			}
			return nil, writeFile(path, string(data), os.O_TRUNC, false)
		}),
		onFile("Delete", 1, func(path string, _ *dotCall) (value, error) {
			if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			return nil, nil
		}),
		onFile("Copy", 3, func(path string, c *dotCall) (value, error) {
			to := c.f.in.path(c.text(1))
			if _, err := os.Stat(to); err == nil && !truth(c.arg(2)) {
				return nil, raise("System.IO.IOException", "The file '"+to+"' already exists.")
			}
			return nil, copyFile(path, to, 0o644, false)
		}),
		onFile("Move", 2, func(path string, c *dotCall) (value, error) {
			to := c.f.in.path(c.text(1))
			if _, err := os.Stat(to); err == nil {
				return nil, raise("System.IO.IOException", "Cannot create a file when that file already exists.\n")
			}
			return nil, os.Rename(path, to)
		}),
	}}
}

// directoryClass is System.IO.Directory.
func directoryClass() *class {
	list := func(name string, dirs bool) routine {
		return onFile(name, 1, func(path string, c *dotCall) (value, error) {
			entries, err := os.ReadDir(path)
			out := []value{}
			for _, e := range entries {
				if e.IsDir() == dirs {
					out = append(out, strings.TrimRight(c.text(0), `/\`)+c.f.in.separator()+e.Name())
				}
			}
			return out, err
		})
	}
	return &class{name: "System.IO.Directory", calls: []routine{
		{name: "Exists", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			info, err := os.Stat(c.f.in.path(c.text(0)))
			return err == nil && info.IsDir() && c.text(0) != "", nil
		}},
		onFile("CreateDirectory", 1, func(path string, _ *dotCall) (value, error) {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return nil, err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return nil, err
			}
			return item(path, info), nil
		}),
		onFile("Delete", 2, func(path string, c *dotCall) (value, error) {
			if _, err := os.Stat(path); err != nil {
				return nil, raise("System.IO.DirectoryNotFoundException", "Could not find a part of the path '"+path+"'.")
			}
			if truth(c.arg(1)) {
				return nil, os.RemoveAll(path)
			}
			return nil, os.Remove(path)
		}),
		list("GetFiles", false), list("GetDirectories", true),
	}}
}
