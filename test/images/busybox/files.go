package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// into returns the path that source gets when it is copied or moved to target, which may be a folder.
func into(c *call, source, target string) string {
	if info, err := os.Stat(c.path(target)); err == nil && info.IsDir() {
		return strings.TrimRight(target, `/\`) + "/" + baseName(strings.TrimRight(source, `/\`))
	}
	return target
}

// pairs runs do for each source with its target: the shape of cp, mv and ln.
func pairs(c *call, args []string, do func(from, to string) error) int {
	if len(args) < 2 {
		return c.usage("missing file operand")
	}
	target, code := args[len(args)-1], 0
	for _, source := range args[:len(args)-1] {
		if err := do(source, into(c, source, target)); err != nil {
			code = c.fail(err)
		}
	}
	return code
}

func cp(_ context.Context, c *call) int {
	o, err := c.parse("r R a f p v", "")
	if err != nil {
		return c.usage("%v", err)
	}
	deep := o.has("r") || o.has("R") || o.has("a")
	return pairs(c, o.args(), func(from, to string) error {
		info, err := os.Stat(c.path(from))
		switch {
		case err != nil:
			return err
		case info.IsDir() && !deep:
			return fmt.Errorf("omitting directory '%s'", from)
		case info.IsDir():
			return os.CopyFS(c.path(to), os.DirFS(c.path(from)))
		}

		return copyFile(c.path(from), c.path(to), info.Mode().Perm())
	})
}

func copyFile(from, to string, mode fs.FileMode) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}

func mv(_ context.Context, c *call) int {
	o, err := c.parse("f v n", "")
	if err != nil {
		return c.usage("%v", err)
	}
	return pairs(c, o.args(), func(from, to string) error {
		info, err := os.Lstat(c.path(from))
		if err != nil {
			return err
		}

		if err := os.Rename(c.path(from), c.path(to)); err != nil { // another file system
			if info.IsDir() {
				err = os.CopyFS(c.path(to), os.DirFS(c.path(from)))
			} else {
				err = copyFile(c.path(from), c.path(to), info.Mode().Perm())
			}
			if err == nil {
				err = os.RemoveAll(c.path(from))
			}
			if err != nil {
				return err
			}
		}

		if o.has("v") {
			fmt.Fprintf(c.stdout, "'%s' -> '%s'\n", from, to)
		}
		return nil
	})
}

func ln(_ context.Context, c *call) int {
	o, err := c.parse("s f n", "")
	if err != nil {
		return c.usage("%v", err)
	}
	return pairs(c, o.args(), func(from, to string) error {
		if o.has("f") {
			if err := os.Remove(c.path(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if o.has("s") {
			return os.Symlink(filepath.FromSlash(from), c.path(to))
		}

		return os.Link(c.path(from), c.path(to))
	})
}

// everyArg runs do for each argument.
func everyArg(c *call, names []string, do func(path string) error) int {
	if len(names) == 0 {
		return c.usage("missing operand")
	}
	code := 0
	for _, n := range names {
		if err := do(c.path(n)); err != nil {
			code = c.fail(err)
		}
	}
	return code
}

func rm(_ context.Context, c *call) int {
	o, err := c.parse("r R f v", "")
	if err != nil {
		return c.usage("%v", err)
	}
	if o.has("f") && len(o.args()) == 0 {
		return 0
	}
	return everyArg(c, o.args(), func(path string) error {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && o.has("f"):
			return nil
		case err != nil:
			return err
		case info.IsDir() && !o.has("r") && !o.has("R"):
			return fmt.Errorf("'%s' is a directory", path)
		}

		return os.RemoveAll(path)
	})
}

func mkdir(_ context.Context, c *call) int {
	o, err := c.parse("p", "m")
	if err != nil {
		return c.usage("%v", err)
	}
	mode, err := strconv.ParseUint("0"+o.get("m"), 8, 32)
	if err != nil || !o.has("m") {
		mode = 0o777
	}

	return everyArg(c, o.args(), func(path string) error {
		if o.has("p") {
			return os.MkdirAll(path, fs.FileMode(mode))
		}
		return os.Mkdir(path, fs.FileMode(mode))
	})
}

func rmdir(_ context.Context, c *call) int { return everyArg(c, c.args[1:], os.Remove) }

func touch(_ context.Context, c *call) int {
	return everyArg(c, c.args[1:], func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		now := time.Now()
		return os.Chtimes(path, now, now)
	})
}

func chmod(_ context.Context, c *call) int {
	o, err := c.parse("R", "")
	if err != nil {
		return c.usage("%v", err)
	}
	if len(o.args()) < 2 {
		return c.usage("missing operand")
	}

	mode, err := strconv.ParseUint(o.args()[0], 8, 12)
	if err != nil {
		return c.usage("invalid mode '%s': only octal modes are known", o.args()[0])
	}
	return everyArg(c, o.args()[1:], func(path string) error {
		if !o.has("R") {
			return os.Chmod(path, fs.FileMode(mode))
		}
		return filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(p, fs.FileMode(mode))
		})
	})
}

// sync has nothing to do: files are written when they are closed.
func sync(context.Context, *call) int { return 0 }

func mktemp(_ context.Context, c *call) int {
	o, err := c.parse("d", "p")
	if err != nil {
		return c.usage("%v", err)
	}
	folder := ""
	if o.has("p") {
		folder = c.path(o.get("p"))
	}

	if o.has("d") {
		name, err := os.MkdirTemp(folder, "tmp.")
		if err != nil {
			return c.fail(err)
		}
		fmt.Fprintln(c.stdout, name)
		return 0
	}

	f, err := os.CreateTemp(folder, "tmp.")
	if err != nil {
		return c.fail(err)
	}
	fmt.Fprintln(c.stdout, f.Name())
	if err := f.Close(); err != nil {
		return c.fail(err)
	}

	return 0
}
