package tar

import (
	"path"
	"strings"
)

// slashes writes a path with slashes, as it is in an archive.
func slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// drive reports whether a name begins with a drive.
func drive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// rooted reports whether a path does not begin at the current folder.
func rooted(name string) bool { return drive(name) || strings.HasPrefix(slashes(name), "/") }

// relative takes drives and slashes from the beginning of a name, and says so once.
func (r *run) relative(name string) string {
	for {
		what := ""
		switch {
		case drive(name):
			what, name = "drive letter", name[2:]
		case strings.HasPrefix(name, "/"):
			what, name = "'/'", strings.TrimLeft(name, "/")
		default:
			return name
		}
		if !r.stripped[what] {
			if r.stripped == nil {
				r.stripped = map[string]bool{}
			}
			r.stripped[what] = true
			r.complain("Removing leading %s from member names", what)
		}
	}
}

// shorten takes the first parts from a name, as --strip-components says; what is left may be nothing.
func (c *command) shorten(name string) string {
	for range c.strip {
		_, after, more := strings.Cut(strings.TrimLeft(name, "/"), "/")
		if !more {
			return ""
		}
		name = after
	}
	return name
}

// climbs reports whether a name has a part that leads to the folder above.
func climbs(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// legal returns a name with an underscore for each character that names on Windows cannot have, as bsdtar unpacks them.
func legal(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || strings.ContainsRune(`:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// wanted reports whether the operands ask for a name, and notes which of them did. Without operands all is wanted.
func (r *run) wanted(name string, asked []bool) bool {
	if r.excludes(name) {
		return false
	}
	found := len(r.operands) == 0
	for i, o := range r.operands {
		pattern := strings.TrimRight(slashes(o.name), "/")
		for upper := strings.TrimRight(name, "/"); upper != "." && upper != "/"; upper = path.Dir(upper) {
			if ok, err := path.Match(pattern, upper); ok || (err != nil && pattern == upper) {
				asked[i], found = true, true
			}
		}
	}
	return found
}
