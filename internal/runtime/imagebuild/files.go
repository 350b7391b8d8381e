package imagebuild

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
)

// file is one entry of the files layer.
type file struct {
	name   string // relative to the drive, with slashes
	source string // on this machine; empty for a folder that leads to the target
	kind   fs.FileMode
	size   int64
	link   string // target of a symbolic link, relative, with slashes
	toDir  bool   // the link leads to a folder, which Windows wants to know
	ro     bool   // read-only
	mode   int64  // permissions; a Windows layer has none
}

// naming checks the names of a folder's files. rel is relative to the folder, with slashes.
type naming interface{ check(rel string) error }

// mostFiles bounds the files of a folder.
const mostFiles = 1_000_000

// scan lists the folder, sorted, with the folders that lead to target first. It refuses names that names.check refuses,
// and everything that is not a file, folder or link.
func scan(ctx context.Context, dir, target string, names naming) ([]file, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("read folder: %q is not one: %w", dir, errdefs.ErrInvalidArgument)
	}
	var files []file
	at := ""
	if target != "" {
		for part := range strings.SplitSeq(target, "/") {
			at = path.Join(at, part)
			files = append(files, file{name: at, kind: fs.ModeDir, mode: 0o755})
		}
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == "." || rel == SpecFile {
			return nil
		}
		if len(files) >= mostFiles {
			return fmt.Errorf("it has more than %d files: %w", mostFiles, errdefs.ErrInvalidArgument)
		}
		if err := names.check(rel); err != nil {
			return fmt.Errorf("file %q: %w", rel, err)
		}
		f, err := scanOne(dir, rel, p, d)
		if err != nil {
			return err
		}
		f.name = path.Join(target, rel)
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

func scanOne(dir, rel, p string, d fs.DirEntry) (file, error) {
	info, err := d.Info()
	if err != nil {
		return file{}, err
	}
	f := file{source: p, kind: info.Mode().Type(), mode: permissions(info)}
	switch f.kind {
	case 0:
		f.size = info.Size()
		f.ro = info.Mode().Perm()&0o222 == 0
	case fs.ModeDir:
	case fs.ModeSymlink:
		if f.link, f.toDir, err = scanLink(dir, rel, p); err != nil {
			return file{}, err
		}
	default:
		return file{}, fmt.Errorf("file %q is a %s, which an image cannot hold: %w", rel, kindName(f.kind),
			errdefs.ErrInvalidArgument)
	}
	return f, nil
}

// kindName is a word for a file that is no file.
func kindName(kind fs.FileMode) string {
	switch {
	case kind&fs.ModeNamedPipe != 0:
		return "named pipe"
	case kind&fs.ModeSocket != 0:
		return "socket"
	case kind&fs.ModeDevice != 0:
		return "device"
	}
	return "file of the kind " + kind.String()
}

// scanLink reads a symbolic link. The target must be relative and within the folder: in the container an absolute
// target is another file, and a target outside the folder does not exist.
func scanLink(dir, rel, p string) (target string, toDir bool, err error) {
	if target, err = os.Readlink(p); err != nil {
		return "", false, err
	}
	target = filepath.ToSlash(target)
	if path.IsAbs(target) {
		return "", false, fmt.Errorf("link %q leads to %q: only relative links can become part of an image: %w", rel,
			target, errdefs.ErrInvalidArgument)
	}
	to := path.Join(path.Dir(rel), target)
	if to == ".." || strings.HasPrefix(to, "../") {
		return "", false, fmt.Errorf("link %q leads out of the folder, to %q: %w", rel, target,
			errdefs.ErrInvalidArgument)
	}
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(to)))
	return target, err == nil && info.IsDir(), nil
}

// windowsNames refuses names that Windows does not have, and names that differ by case alone.
type windowsNames struct{ folded map[string]string }

func (n windowsNames) check(rel string) error {
	if err := checkName(path.Base(rel)); err != nil {
		return err
	}
	if other, ok := n.folded[strings.ToLower(rel)]; ok {
		return fmt.Errorf("Windows takes it for the same name as %q: %w", other, errNames) //nolint:staticcheck // a name
	}
	n.folded[strings.ToLower(rel)] = rel
	return nil
}

// checkName refuses names that Windows does not have
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file) and those that mean a deletion in a layer.
func checkName(name string) error {
	if strings.HasPrefix(name, ".wh.") {
		return fmt.Errorf("%q means a deletion in an image layer: %w", name, errdefs.ErrInvalidArgument)
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `<>:"|?*\/`) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 }) || strings.HasSuffix(name, ".") ||
		strings.HasSuffix(name, " ") {
		return fmt.Errorf("%q: %w", name, errNames)
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem = strings.TrimRight(stem, " "); stem {
	case "CON", "PRN", "AUX", "NUL":
		return fmt.Errorf("%q names a device: %w", name, errNames)
	}
	if len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' &&
		stem[3] <= '9' {
		return fmt.Errorf("%q names a device: %w", name, errNames)
	}
	return nil
}

func windowsPath(p string) string { return strings.ReplaceAll(p, "/", `\`) }
