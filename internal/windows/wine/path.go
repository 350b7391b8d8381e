package wine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrLeavesDrive is UnixPath's error for a path that would end outside its drive.
var ErrLeavesDrive = errors.New("path leaves the drive")

// maxLinks bounds the symbolic links followed in one path, as Linux does (ELOOP at 40).
const maxLinks = 40

// UnixPath maps a Windows path to a path below drive, the Unix folder that is C:. Components are found without regard
// to case, with / and \ alike; the letter C: and the prefix \\?\ are optional. Components that do not exist keep their
// names as given, so that a file can be created at the result. Symbolic links are followed inside the drive and refused
// if they lead out of it; the result holds no link. If others can write to the drive at the same time, open the result
// with RESOLVE_NO_SYMLINKS.
func UnixPath(drive, winPath string) (string, error) {
	parts, err := splitWindows(winPath)
	if err != nil {
		return "", fmt.Errorf("map windows path %q: %w", winPath, err)
	}
	root, err := filepath.EvalSymlinks(drive)
	if err != nil {
		return "", fmt.Errorf("map windows path %q: %w", winPath, err)
	}
	w := walker{root: root}
	path, err := w.walk(root, parts)
	if err != nil {
		return "", fmt.Errorf("map windows path %q: %w", winPath, err)
	}
	return path, nil
}

// splitWindows returns the components below C:\, with . and .. removed as Windows removes them: by text, before links.
func splitWindows(p string) ([]string, error) {
	if strings.ContainsRune(p, 0) {
		return nil, errors.New("holds a NUL character")
	}
	p = strings.ReplaceAll(p, "/", `\`)
	verbatim := strings.HasPrefix(p, `\\?\`)
	p = strings.TrimPrefix(p, `\\?\`)
	if strings.HasPrefix(p, `\\`) {
		return nil, errors.New("is a network or device path; only drive C: has files")
	}
	if len(p) >= 2 && p[1] == ':' {
		if p[0] != 'c' && p[0] != 'C' {
			return nil, fmt.Errorf("there is no drive %s", p[:2])
		}
		p = p[2:]
	}
	var parts []string
	for c := range strings.SplitSeq(p, `\`) {
		switch {
		case c == "" || c == ".":
			continue
		case c == "..":
			if len(parts) == 0 {
				return nil, ErrLeavesDrive
			}
			parts = parts[:len(parts)-1]
			continue
		case strings.ContainsAny(c, `:*?"<>|`):
			return nil, fmt.Errorf("component %q has a character that file names do not have", c)
		}
		if !verbatim {
			// Win32 ignores dots and spaces at the end of a component.
			if c = strings.TrimRight(c, ". "); c == "" {
				continue
			}
		}
		parts = append(parts, c)
	}
	return parts, nil
}

// walker resolves components below root, counting the links it follows.
type walker struct {
	root  string
	links int
}

func (w *walker) walk(dir string, parts []string) (string, error) {
	for i, part := range parts {
		if part == ".." { // comes only from the text of a link
			if dir == w.root {
				return "", ErrLeavesDrive
			}
			dir = filepath.Dir(dir)
			continue
		}
		name, info, err := findEntry(dir, part)
		if err != nil {
			return "", err
		}
		next := filepath.Join(dir, name)
		if info == nil {
			return missing(next, parts[i+1:])
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			dir = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		return w.follow(dir, target, parts[i+1:])
	}
	return dir, nil
}

// missing appends the components below one that does not exist. A .. among them is an error, as it is for the kernel:
// nothing beside a missing folder has been checked for links.
func missing(path string, rest []string) (string, error) {
	if slices.Contains(rest, "..") {
		return "", fmt.Errorf("go up from %q: %w", path, fs.ErrNotExist)
	}
	return filepath.Join(append([]string{path}, rest...)...), nil
}

// follow continues at the target of a link found in dir, then with the components that came after the link.
func (w *walker) follow(dir, target string, rest []string) (string, error) {
	if w.links++; w.links > maxLinks {
		return "", errors.New("too many symbolic links")
	}
	if out, ok := w.upAndOut(dir, target); ok {
		target = out
	}
	if filepath.IsAbs(target) {
		below, ok := w.insideDrive(target)
		if !ok {
			return "", fmt.Errorf("symbolic link to %q: %w", target, ErrLeavesDrive)
		}
		dir, target = w.root, below
	}
	var parts []string
	for c := range strings.SplitSeq(target, "/") {
		if c != "" && c != "." {
			parts = append(parts, c)
		}
	}
	return w.walk(dir, append(parts, rest...))
}

// upAndOut returns the absolute target of a relative one that begins with as many .. as lead from dir, in which there
// is no link, to the folder above the drive: a Windows program's link to C:\x is "../../dosdevices/c:/x", so that it is
// valid wherever the prefix is mounted.
func (w *walker) upAndOut(dir, target string) (string, bool) {
	for ; dir != filepath.Dir(w.root); dir = filepath.Dir(dir) {
		rest, ok := strings.CutPrefix(target, "../")
		if !ok {
			return "", false
		}
		target = rest
	}
	return filepath.Join(dir, target), true
}

// insideDrive returns the part of an absolute link target below the drive. The drive is known to Wine programs as the
// folder itself and as dosdevices/c: beside it.
func (w *walker) insideDrive(target string) (string, bool) {
	target = filepath.Clean(target)
	for _, base := range []string{w.root, filepath.Join(filepath.Dir(w.root), "dosdevices", "c:")} {
		if target == base {
			return "", true
		}
		if below, ok := strings.CutPrefix(target, base+"/"); ok {
			return below, true
		}
	}
	return "", false
}

// findEntry looks for name in dir, first as given, then without regard to case. A nil info means that there is none.
func findEntry(dir, name string) (string, fs.FileInfo, error) {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err == nil {
		return name, info, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return name, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	names, err := f.Readdirnames(-1)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", nil, err
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			info, err := os.Lstat(filepath.Join(dir, n))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return n, info, err
		}
	}
	return name, nil, nil
}
