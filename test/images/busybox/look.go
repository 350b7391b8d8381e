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
)

func cat(_ context.Context, c *call) int {
	o, err := c.parse("u", "")
	if err != nil {
		return c.usage("%v", err)
	}
	return c.each(o.args(), func(_ string, r io.Reader) error {
		_, err := io.Copy(c.stdout, r)
		return err
	})
}

func ls(_ context.Context, c *call) int {
	o, err := c.parse("l a A 1 d R h n", "")
	if err != nil {
		return c.usage("%v", err)
	}
	names := o.args()
	if len(names) == 0 {
		names = []string{"."}
	}

	code := 0
	for _, name := range names {
		if err := list(c, o, name, len(names) > 1 || o.has("R")); err != nil {
			code = c.fail(err)
		}
	}

	return code
}

func list(c *call, o *options, name string, heading bool) error {
	info, err := os.Lstat(c.path(name))
	if err != nil {
		return err
	}
	if !info.IsDir() || o.has("d") {
		printEntry(c, o, name, info)
		return nil
	}

	entries, err := os.ReadDir(c.path(name))
	if err != nil {
		return err
	}
	if heading {
		fmt.Fprintf(c.stdout, "%s:\n", name)
	}

	var folders []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !o.has("a") && !o.has("A") {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in between
		}

		if err != nil {
			return err
		}
		printEntry(c, o, e.Name(), info)
		if e.IsDir() {
			folders = append(folders, name+"/"+e.Name())
		}
	}

	for _, f := range folders {
		if !o.has("R") {
			break
		}
		if err := list(c, o, f, true); err != nil {
			return err
		}
	}

	return nil
}

func printEntry(c *call, o *options, name string, info fs.FileInfo) {
	if !o.has("l") {
		fmt.Fprintln(c.stdout, name)
		return
	}
	fmt.Fprintf(c.stdout, "%s 1 root root %12d %s %s\n", info.Mode(), info.Size(),
		info.ModTime().Format("Jan _2 15:04"), name)
}

// find knows: find [PATH…] [-type f|d|l] [-name PATTERN] [-maxdepth N].
func find(_ context.Context, c *call) int {
	var roots []string
	kind, pattern := "", ""
	depth := -1
	args := c.args[1:]
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			roots = append(roots, args[i])
			continue
		}
		if i+1 == len(args) {
			return c.usage("missing argument to '%s'", args[i])
		}

		switch value := args[i+1]; args[i] {
		case "-type":
			kind = value
		case "-name":
			pattern = value
		case "-maxdepth":
			n, err := strconv.Atoi(value)
			if err != nil {
				return c.usage("%v", err)
			}
			depth = n

		default:
			return c.usage("unrecognized: %s", args[i])
		}

		i++
	}

	if len(roots) == 0 {
		roots = []string{"."}
	}

	code := 0
	for _, root := range roots {
		base := c.path(root)
		err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}

			rel := strings.Trim(filepath.ToSlash(strings.TrimPrefix(p, base)), "/")
			if depth >= 0 && rel != "" && strings.Count(rel, "/")+1 > depth {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}

			if matched, err := filepath.Match(pattern, d.Name()); (pattern != "" && (err != nil || !matched)) ||
				(kind != "" && kind != kindOf(d)) {
				return err
			}
			name := strings.TrimSuffix(root, "/") + "/" + rel
			if rel == "" {
				name = root
			}
			fmt.Fprintln(c.stdout, name)
			return nil
		})
		if err != nil {
			code = c.fail(err)
		}
	}

	return code
}

func kindOf(d fs.DirEntry) string {
	switch {
	case d.IsDir():
		return "d"
	case d.Type()&fs.ModeSymlink != 0:
		return "l"
	}
	return "f"
}

// stat knows -c with %a %s %n %F %g %u; Windows has no owners by number, which are 0 there.
func stat(_ context.Context, c *call) int {
	o, err := c.parse("L", "c")
	if err != nil {
		return c.usage("%v", err)
	}
	format := "  File: %n\n  Size: %s\nAccess: (%a)"
	if o.has("c") {
		format = o.get("c")
	}

	code := 0
	for _, name := range o.args() {
		get := os.Lstat
		if o.has("L") {
			get = os.Stat
		}
		info, err := get(c.path(name))
		if err != nil {
			code = c.fail(err)
			continue
		}

		kind := "regular file"
		if info.IsDir() {
			kind = "directory"
		}

		uid, gid := owner(info)
		fmt.Fprintln(c.stdout, strings.NewReplacer(
			"%a", strconv.FormatUint(uint64(info.Mode().Perm()), 8), "%s", strconv.FormatInt(info.Size(), 10), "%n",
			name, "%F", kind,
			"%u", strconv.Itoa(uid), "%g", strconv.Itoa(gid),
		).Replace(format))
	}

	return code
}

// dd knows if=, of=, bs= and count=.
func dd(_ context.Context, c *call) int {
	from, to := "-", ""
	size, count := int64(512), int64(-1)
	for _, a := range c.args[1:] {
		name, value, _ := strings.Cut(a, "=")
		var err error
		switch name {
		case "if":
			from = value
		case "of":
			to = value
		case "bs":
			size, err = parseSize(value)
		case "count":
			count, err = strconv.ParseInt(value, 10, 64)
		default:
			return c.usage("unrecognized operand: %s", a)
		}
		if err != nil {
			return c.usage("%s: %v", a, err)
		}
	}

	in := c.stdin
	switch from {
	case "-":
	case "/dev/zero":
		in = zeros{}
	default:
		f, err := os.Open(c.path(from))
		if err != nil {
			return c.fail(err)
		}
		defer f.Close()
		in = f
	}

	if count >= 0 {
		in = io.LimitReader(in, size*count)
	}

	out := c.stdout
	if to != "" {
		f, err := os.Create(c.path(to))
		if err != nil {
			return c.fail(err)
		}
		defer f.Close()
		out = f
	}

	n, err := io.Copy(out, in)
	if err != nil {
		return c.fail(err)
	}
	fmt.Fprintf(c.stderr, "%d+0 records in\n%d+0 records out\n", n/size, n/size)
	return 0
}

type zeros struct{}

// Read fills p with zeros.
func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func parseSize(s string) (int64, error) {
	unit := int64(1)
	switch {
	case strings.HasSuffix(s, "M"):
		unit = 1 << 20
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		unit = 1 << 10
	case strings.HasSuffix(s, "G"):
		unit = 1 << 30
	}

	n, err := strconv.ParseInt(strings.TrimRight(s, "kKMG"), 10, 64)
	if err == nil && n <= 0 {
		err = fmt.Errorf("size %d is not positive", n)
	}
	return n * unit, err
}

func du(_ context.Context, c *call) int {
	o, err := c.parse("s k h m", "")
	if err != nil {
		return c.usage("%v", err)
	}
	return everyArg(c, o.args(), func(path string) error {
		var bytes int64
		err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				bytes += info.Size()
			}
			return err
		})
		fmt.Fprintf(c.stdout, "%d\t%s\n", (bytes+1023)/1024, filepath.ToSlash(path))

		return err
	})
}
