package powershell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environmentItem is the variable that a path of the drive env: names.
func environmentItem(path string) (string, bool) {
	drive, name, ok := strings.Cut(path, ":")
	return strings.ToUpper(strings.TrimLeft(name, `\/`)), ok && lower(drive) == "env"
}

// makeFolder is mkdir: a folder with those above it.
func makeFolder(c *call) error {
	c.values["itemtype"] = "directory"
	return newItem(c)
}

// sources are the files that a path with wild cards in its last part names, or the path itself.
func sources(path string) ([]string, error) {
	if !strings.ContainsAny(path, "*?") {
		return []string{path}, nil
	}
	dir, pattern := filepath.Split(path)
	if strings.ContainsAny(dir, "*?") {
		return nil, errors.New("wild cards in the name of a folder are not part of Mullion's PowerShell")
	}
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		ok, err := compare("-like", e.Name(), pattern)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	return found, nil
}

// copyItem copies files, and with -Recurse folders.
func copyItem(c *call) error {
	to := c.f.in.path(c.text("destination"))
	if c.text("destination") == "" {
		to = c.f.in.dir
	}
	for _, path := range c.paths() {
		from, err := []string{c.f.in.path(path)}, error(nil)
		if c.values["literalpath"] == nil {
			from, err = sources(c.f.in.path(path))
		}
		if err != nil {
			if err := c.fail(because(path, err)); err != nil {
				return err
			}
		}
		for _, f := range from {
			if err := copyTo(f, to, c.flags["recurse"]); err != nil {
				if err := c.fail(because(f, err)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// copyTo copies one file or folder to a path, or into it where it is a folder. Without -Recurse only a folder itself is made.
func copyTo(from, to string, recurse bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if there, err := os.Stat(to); err == nil && there.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}
	if !info.IsDir() {
		return copyFile(from, to, info.Mode().Perm())
	}
	if rel, err := filepath.Rel(from, to); recurse && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("a folder is not copied into itself, %s", to)
	}
	if err := os.MkdirAll(to, 0o755); err != nil || !recurse {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, copyTo(filepath.Join(from, e.Name()), to, true))
	}
	return err
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if same, err := os.Stat(to); err == nil {
		if info, err := in.Stat(); err == nil && os.SameFile(info, same) {
			return errors.New("an item is not copied to itself")
		}
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// outFile writes what would be shown. UTF-8 is what it writes whatever it is asked for, of encodings that can be read as it.
func outFile(c *call) error {
	if e := lower(c.text("encoding")); e != "" && !slices.Contains([]string{"utf8", "utf8nobom", "ascii", "default", "oem"}, e) {
		return c.fail(fmt.Errorf("the encoding %s is not part of Mullion's PowerShell", e))
	}
	items := c.input
	for v := range each(c.values["inputobject"]) {
		items = append(items, v)
	}
	content, err := formatted(items, c.f.in.session.Newline)
	if err != nil {
		return err
	}
	how := os.O_TRUNC
	if c.flags["append"] {
		how = os.O_APPEND
	}
	path := c.text("filepath")
	if path == "" {
		return c.fail(errors.New("a path is missing"))
	}
	if err := writeFile(c.f.in.path(path), content, how); err != nil {
		return c.fail(because(path, err))
	}
	return nil
}
