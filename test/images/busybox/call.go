package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// call is one call of a program: its arguments, the name first, and its surroundings, which within a shell are not
// those of the process.
type call struct {
	args           []string
	dir            string
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// path returns the path by which the operating system finds p. A path that begins with a slash is meant from the root
// of the drive; the null device has another name on Windows.
func (c *call) path(p string) string { return osPath(c.dir, p, runtime.GOOS) }

func osPath(dir, p, goos string) string {
	if goos != "windows" {
		if strings.HasPrefix(p, "/") {
			return p
		}
		return strings.TrimSuffix(dir, "/") + "/" + p
	}

	switch p = strings.ReplaceAll(p, "/", `\`); {
	case strings.EqualFold(p, `\dev\null`), strings.EqualFold(p, "nul"):
		return "NUL"
	case len(p) >= 2 && p[1] == ':', strings.HasPrefix(p, `\\`):
		return p
	case strings.HasPrefix(p, `\`):
		if len(dir) >= 2 && dir[1] == ':' {
			return dir[:2] + p
		}
		return p
	}

	return strings.TrimSuffix(dir, `\`) + `\` + p
}

// getenv returns the value of a variable; on Windows names differ by more than case.
func (c *call) getenv(name string) string {
	for i := len(c.env) - 1; i >= 0; i-- {
		k, v, _ := strings.Cut(c.env[i], "=")
		if k == name || (runtime.GOOS == "windows" && strings.EqualFold(k, name)) {
			return v
		}
	}
	return ""
}

// fail prints an error as Unix programs do and returns the exit code 1.
func (c *call) fail(err error) int {
	fmt.Fprintf(c.stderr, "%s: %s\n", appletName(c.args[0]), errText(err))
	return 1
}

// errText returns an error in the words that people and tests know from Unix.
func errText(err error) string {
	var pathErr *fs.PathError
	if !errors.As(err, &pathErr) {
		return err.Error()
	}

	text := pathErr.Err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text = "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		text = "Permission denied"
	case errors.Is(err, fs.ErrExist):
		text = "File exists"
	}

	return filepath.ToSlash(pathErr.Path) + ": " + text
}

// usage reports a wrong option and returns the exit code 2.
func (c *call) usage(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "%s: %s\n", appletName(c.args[0]), fmt.Sprintf(format, args...))
	return 2
}

// options are what was given on a command line.
type options struct {
	set    map[string]string // of the last one given
	all    map[string][]string
	operas []string
}

func (o *options) has(name string) bool       { _, ok := o.set[name]; return ok }
func (o *options) get(name string) string     { return o.set[name] }
func (o *options) number(name string) (n int) { n, _ = strconv.Atoi(o.set[name]); return n }
func (o *options) put(name, value string) {
	o.set[name] = value
	o.all[name] = append(o.all[name], value)
}
func (o *options) args() []string { return o.operas }

// parse reads options: flags are letters and words without a value, valued those with one. Letters may be joined
// ("-qO-"), a value may follow its letter or be the next argument, words begin with "--" and may have "=value".
func (c *call) parse(flags, valued string) (*options, error) {
	o := &options{set: map[string]string{}, all: map[string][]string{}}
	isFlag, isValued := set(flags), set(valued)
	args := c.args[1:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			o.operas = append(o.operas, args[i+1:]...)
			return o, nil

		case strings.HasPrefix(a, "--"):
			name, value, has := strings.Cut(a[2:], "=")
			switch {
			case isValued[name] && has:
				o.put(name, value)
			case isValued[name] && i+1 < len(args):
				i++
				o.put(name, args[i])
			case isFlag[name] && !has:
				o.put(name, "")
			default:
				return nil, fmt.Errorf("unrecognized option: %s", a)
			}

		case len(a) > 1 && a[0] == '-':
			used, err := o.letters(a[1:], args[i+1:], isFlag, isValued)
			if err != nil {
				return nil, err
			}
			i += used
		default:
			o.operas = append(o.operas, a)
		}
	}

	return o, nil
}

// letters reads joined letters and tells how many of the following arguments it has used.
func (o *options) letters(letters string, next []string, isFlag, isValued map[string]bool) (int, error) {
	for i := range len(letters) {
		l := letters[i : i+1]
		switch {
		case isFlag[l]:
			o.put(l, "")
		case isValued[l] && i+1 < len(letters):
			o.put(l, letters[i+1:])
			return 0, nil
		case isValued[l] && len(next) > 0:
			o.put(l, next[0])
			return 1, nil

		case isValued[l]:
			return 0, fmt.Errorf("option requires an argument -- %s", l)
		default:
			return 0, fmt.Errorf("unrecognized option: -%s", l)
		}
	}

	return 0, nil
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// each runs do for every file that is named, or for standard input where none is or for "-", and gives the worst exit
// code.
func (c *call) each(names []string, do func(name string, r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}

	code := 0
	for _, name := range names {
		err := func() error {
			if name == "-" {
				return do(name, c.stdin)
			}
			f, err := os.Open(c.path(name))
			if err != nil {
				return err
			}
			defer f.Close()
			return do(name, f)
		}()
		if err != nil {
			code = c.fail(err)
		}
	}

	return code
}
