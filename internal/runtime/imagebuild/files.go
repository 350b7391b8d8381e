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

// File is one entry of a layer.
type File struct {
	// Name is relative to the drive or the root, with slashes.
	Name string
	// Source is the file on this machine that has its bytes, below In if there is one: no link leads out of that then.
	// Where Source is empty, Data are the bytes.
	In     *os.Root
	Source string
	Data   []byte
	// Kind is fs.ModeDir, fs.ModeSymlink, or 0 for a regular file, whose bytes are Size.
	Kind fs.FileMode
	Size int64
	// Link is the target of a symbolic link, relative, with slashes. ToDir says that it leads to a folder, which
	// Windows wants to know.
	Link  string
	ToDir bool
	// ReadOnly is Windows' attribute.
	ReadOnly bool
	// Mode are the permissions, UID and GID the owner; a Windows layer has none of them.
	Mode     int64
	UID, GID int
	// Sum is the SHA-256 of a regular file's bytes; empty: nobody has read them yet. It is an error if other ones are
	// found when the file becomes part of a layer.
	Sum []byte
}

// naming checks the names of a folder's files. rel is relative to the folder, with slashes.
type naming interface{ check(rel string) error }

// MostFiles and MostBytes are the most that a folder or a layer has.
const (
	MostFiles = 1_000_000
	MostBytes = 64 << 30
)

// Scan lists the files of a folder for a Windows image, sorted, with their names below target; the folders that lead to
// target come first. skip leaves out files by their names in the folder, with slashes; what is in a folder that is left
// out is asked for too. Names that Windows does not have, links that lead out of the folder, and what is neither a
// file, a folder nor a link are errors.
func Scan(ctx context.Context, dir, target string, skip func(rel string) (bool, error)) ([]File, error) {
	return scan(ctx, dir, target, windowsNames{folded: map[string]string{}}, skip)
}

// skipSpec leaves out the description.
func skipSpec(rel string) (bool, error) { return rel == SpecFile, nil }

// realFolder returns a folder without links on the way to it.
func realFolder(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%q is not one: %w", dir, errdefs.ErrInvalidArgument)
	}
	return dir, err
}

// foldersTo returns the folders that lead to target, and itself; none if it is "".
func foldersTo(target string) []File {
	if target == "" {
		return nil
	}

	var files []File
	at := ""
	for part := range strings.SplitSeq(target, "/") {
		at = path.Join(at, part)
		files = append(files, File{
			Name: at,
			Kind: fs.ModeDir,
			Mode: 0o755,
		})
	}

	return files
}

// scan is Scan for either system. It refuses names that names.check refuses.
func scan(ctx context.Context, dir, target string, names naming, skip func(string) (bool, error)) ([]File, error) {
	dir, err := realFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}

	files := foldersTo(target)
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
		if rel == "." {
			return nil
		}
		if left, err := skip(rel); left || err != nil {
			return err
		}

		if len(files) >= MostFiles {
			return fmt.Errorf("it has more than %d files: %w", MostFiles, errdefs.ErrInvalidArgument)
		}
		if err := names.check(rel); err != nil {
			return fmt.Errorf("file %q: %w", rel, err)
		}

		f, err := scanOne(dir, rel, p, d)
		if err != nil {
			return err
		}
		f.Name = path.Join(target, rel)
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

func scanOne(dir, rel, p string, d fs.DirEntry) (File, error) {
	info, err := d.Info()
	if err != nil {
		return File{}, err
	}
	f := File{
		Source: p,
		Kind:   info.Mode().Type(),
		Mode:   Permissions(info),
	}

	switch f.Kind {
	case 0:
		f.Size = info.Size()
		f.ReadOnly = info.Mode().Perm()&0o222 == 0
	case fs.ModeDir:
	case fs.ModeSymlink:
		if f.Link, f.ToDir, err = scanLink(dir, rel, p); err != nil {
			return File{}, err
		}

	default:
		return File{}, fmt.Errorf("file %q is a %s, which an image cannot hold: %w", rel, kindName(f.Kind),
			errdefs.ErrInvalidArgument)
	}

	return f, nil
}

// kindName returns a word for a file that is no file.
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
	if err := CheckName(path.Base(rel)); err != nil {
		return err
	}
	if other, ok := n.folded[strings.ToLower(rel)]; ok {
		return fmt.Errorf("Windows takes it for the same name as %q: %w", other, errNames) //nolint:staticcheck // a name
	}
	n.folded[strings.ToLower(rel)] = rel
	return nil
}

// Names of a layer that say what is deleted
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#whiteouts): a file of the layers below, whose name
// follows, and all that they have in the folder.
const (
	Whiteout       = ".wh."
	OpaqueWhiteout = ".wh..wh..opq"
)

// CheckName refuses names that Windows does not have
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file) and those that mean a deletion in a layer.
func CheckName(name string) error {
	if strings.HasPrefix(name, Whiteout) {
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
