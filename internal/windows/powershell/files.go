package powershell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// because is an error of a path without the path, which the message has already.
func because(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("Cannot find path '%s' because it does not exist.", path) //nolint:revive,staticcheck // PowerShell's own words
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func getContent(c *call) error {
	for _, path := range c.paths() {
		data, err := os.ReadFile(c.f.in.path(path))
		if err != nil {
			if err := c.fail(because(path, err)); err != nil {
				return err
			}
			continue
		}
		content := strings.TrimPrefix(string(data), "\uFEFF")
		if c.flags["raw"] {
			if err := c.out.put(content); err != nil {
				return err
			}
			continue
		}
		for line := range strings.Lines(content) {
			if err := c.out.put(strings.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

func setContent(c *call) error { return c.write(os.O_TRUNC) }
func addContent(c *call) error { return c.write(os.O_APPEND) }

func (c *call) write(how int) error {
	items := c.input
	if v, ok := c.values["value"]; ok {
		items = nil
		for item := range each(v) {
			items = append(items, item)
		}
	}
	var b strings.Builder
	for _, item := range items {
		b.WriteString(text(item))
		if !c.flags["nonewline"] {
			b.WriteString(c.f.in.session.Newline)
		}
	}
	var paths []string
	for _, name := range []string{"path", "literalpath"} {
		for v := range each(c.values[name]) {
			paths = append(paths, text(v))
		}
	}
	if len(paths) == 0 {
		return c.fail(errors.New("a path is missing"))
	}
	for _, path := range paths {
		if err := writeFile(c.f.in.path(path), b.String(), how); err != nil {
			if err := c.fail(because(path, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(path, content string, how int) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// item is a file as an object.
func item(path string, info fs.FileInfo) *object {
	o := newObject("file").set("Name", info.Name()).set("FullName", path).set("DirectoryName", filepath.Dir(path)).
		set("Mode", mode(info)).set("LastWriteTime", info.ModTime().Format("1/2/2006   3:04 PM")).set("PSIsContainer", info.IsDir())
	o.set("Length", nil)
	if info.Mode().IsRegular() {
		o.set("Length", info.Size())
	}
	o.set("LinkType", nil).set("Target", nil)
	if target, err := os.Readlink(path); err == nil {
		kind := "SymbolicLink"
		if info.Mode()&fs.ModeSymlink == 0 { // Go calls a junction irregular
			kind = "Junction"
		}
		o.set("LinkType", kind).set("Target", target)
	}
	return o
}

// mode is how PowerShell shows attributes; those that Go does not tell are not shown.
func mode(info fs.FileInfo) string {
	m := []byte("------")
	if info.IsDir() {
		m[0] = 'd'
	} else {
		m[1] = 'a'
	}
	if info.Mode().Perm()&0o200 == 0 {
		m[2] = 'r'
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		m[5] = 'l'
	}
	return string(m)
}

func getItem(c *call) error {
	for _, path := range c.paths() {
		full := c.f.in.path(path)
		info, err := os.Lstat(full)
		if err == nil {
			err = c.out.put(item(full, info))
		} else {
			err = c.fail(because(path, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func getChildItem(c *call) error {
	paths := c.paths()
	if len(paths) == 0 {
		paths = []string{c.f.in.dir}
	}
	for _, path := range paths {
		if strings.ContainsAny(path, "*?") && c.values["path"] != nil {
			return c.fail(errors.New("wild cards are not part of Mullion's PowerShell"))
		}
		if err := c.children(path); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) children(path string) error {
	full := c.f.in.path(path)
	info, err := os.Stat(full)
	if err != nil {
		return c.fail(because(path, err))
	}
	if !info.IsDir() {
		return c.show(full, info)
	}
	entries, err := os.ReadDir(full)
	if err != nil {
		return c.fail(because(path, err))
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone since
		}
		if err := c.show(filepath.Join(full, e.Name()), info); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) show(path string, info fs.FileInfo) error {
	if c.flags["name"] {
		return c.out.put(info.Name())
	}
	return c.out.put(item(path, info))
}

func testPath(c *call) error {
	for _, path := range c.paths() {
		name, variable := environmentItem(path)
		_, there := c.f.in.env[name]
		if !variable {
			_, err := os.Stat(c.f.in.path(path))
			there = err == nil
		}
		if err := c.out.put(there); err != nil {
			return err
		}
	}
	return nil
}

func newItem(c *call) error {
	kind := lower(c.text("itemtype") + c.text("type"))
	for _, path := range c.paths() {
		full := c.f.in.path(path)
		var err error
		switch _, there := os.Stat(full); {
		case kind != "" && kind != "file" && kind != "directory":
			err = fmt.Errorf("an item of type %s is not part of Mullion's PowerShell", kind)
		case there == nil && !c.flags["force"]:
			err = fmt.Errorf("An item with the specified name %s already exists.", full) //nolint:revive,staticcheck // PowerShell's own words
		case kind == "directory": // with -Force also one that is there
			err = os.MkdirAll(full, 0o755)
		default:
			err = writeFile(full, c.text("value"), os.O_TRUNC)
		}
		if err != nil {
			if err := c.fail(because(path, err)); err != nil {
				return err
			}
			continue
		}
		info, err := os.Lstat(full)
		if err != nil {
			return c.fail(because(path, err))
		}
		if err := c.out.put(item(full, info)); err != nil {
			return err
		}
	}
	return nil
}

func removeItem(c *call) error {
	for _, path := range c.paths() {
		if name, ok := environmentItem(path); ok {
			delete(c.f.in.env, name)
			continue
		}
		full := c.f.in.path(path)
		_, err := os.Lstat(full)
		switch {
		case err != nil:
		case c.flags["recurse"]:
			err = os.RemoveAll(full)
		default:
			err = os.Remove(full)
		}
		if err != nil {
			if err := c.fail(because(path, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

func getLocation(c *call) error { return c.out.put(c.f.in.dir) }

func setLocation(c *call) error {
	for _, path := range c.paths() {
		full := c.f.in.path(path)
		if info, err := os.Stat(full); err != nil || !info.IsDir() {
			return c.fail(because(path, fs.ErrNotExist))
		}
		c.f.in.dir = full
	}
	return nil
}
