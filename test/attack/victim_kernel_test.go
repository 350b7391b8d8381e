//go:build kernel

package attack

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// owner is who the files of images belong to on the disk, where containers see them ID-mapped.
const owner = 0

// newVictim makes a folder of the machine that no image may read, change or remove.
func newVictim(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "victim")
	for name, text := range map[string]string{"note": unread, "sub/inner": unread} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const unread = "nobody changes this"

// look returns all of a folder: names, modes, owners, how many links, content.
func look(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(&all, p, "is gone")
			return nil
		}
		if err != nil {
			return err
		}

		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}

		fmt.Fprintf(&all, "%s %o %d %d %d", p, st.Mode, st.Uid, st.Nlink, st.Rdev)
		switch {
		case d.Type() == fs.ModeSymlink:
			to, _ := os.Readlink(p)
			fmt.Fprint(&all, " -> ", to)
		case d.Type().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x", sha256.Sum256(data))
		}

		fmt.Fprintln(&all)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// harmIn lists what must not be in the unpacked files of an image. owners are who they may belong to.
func harmIn(t *testing.T, tree string, owners ...uint32) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(tree, func(p string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			found = append(found, p+" is gone")
			return nil
		}
		if err != nil || p == tree {
			return err
		}

		for _, harm := range harmOf(t, tree, p, owners) {
			found = append(found, fmt.Sprintf("%s: %s", strings.TrimPrefix(p, tree), harm))
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// harmOf judges one file of a tree. A device 0:0 is a whiteout of an overlay.
func harmOf(t *testing.T, tree, p string, owners []uint32) []string {
	t.Helper()
	var found []string
	var st unix.Stat_t
	if err := unix.Lstat(p, &st); err != nil {
		t.Fatal(err)
	}

	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR, unix.S_IFBLK:
		if st.Rdev != 0 {
			found = append(found, fmt.Sprintf("device %x", st.Rdev))
		}
		return found

	case unix.S_IFIFO, unix.S_IFSOCK:
		found = append(found, "pipe or socket")
	case unix.S_IFLNK:
		to, _ := os.Readlink(p)
		rel, _ := filepath.Rel(tree, filepath.Join(filepath.Dir(p), to))
		if filepath.IsAbs(to) || !filepath.IsLocal(rel) {
			found = append(found, "leads to "+to)
		}
		return found
	}

	if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		found = append(found, fmt.Sprintf("mode %o", st.Mode))
	}
	if !slices.Contains(owners, st.Uid) {
		found = append(found, fmt.Sprintf("belongs to %d", st.Uid))
	}

	list := make([]byte, 4096)
	n, err := unix.Llistxattr(p, list)
	if err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Fatal(err)
	}

	for name := range strings.SplitSeq(string(list[:max(n, 0)]), "\x00") {
		switch name {
		case "", "user.DOSATTRIB", "security.selinux", "trusted.overlay.opaque":
		default:
			found = append(found, "attribute "+name)
		}
	}

	return found
}

// naively unpacks a layer as a program would that believes all it reads: the control of each attack by a layer.
func naively(t *testing.T, root string, members []member) {
	t.Helper()
	for _, m := range members {
		name := path.Clean(strings.ReplaceAll(m.Name, `\`, "/"))
		if len(name) > 1 && name[1] == ':' {
			name = name[2:]
		}
		if err := believe(root, name, m); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Logf("control: %q: %v", m.Name, err)
		}
	}
}

// believe writes one entry.
func believe(root, name string, m member) error {
	inRoot := func(name string) string {
		if path.IsAbs(name) {
			return name
		}
		return filepath.Join(root, name)
	}

	at := inRoot(name)
	dir, base := filepath.Split(at)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	if base == ".wh..wh..opq" {
		list, err := os.ReadDir(dir)
		for _, e := range list {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		return err
	}

	if gone, ok := strings.CutPrefix(base, ".wh."); ok {
		return os.RemoveAll(filepath.Join(dir, gone))
	}

	to := strings.TrimPrefix(strings.ReplaceAll(m.Linkname, `\`, "/"), "//?/unix")
	var err error
	device := int(unix.Mkdev(uint32(m.Devmajor), uint32(m.Devminor)))
	switch m.Typeflag {
	case tar.TypeDir:
		err = os.MkdirAll(at, 0o755)
	case tar.TypeSymlink:
		return os.Symlink(to, at)
	case tar.TypeLink:
		return os.Link(inRoot(to), at)
	case tar.TypeChar:
		err = unix.Mknod(at, unix.S_IFCHR|0o666, device)
	case tar.TypeBlock:
		err = unix.Mknod(at, unix.S_IFBLK|0o666, device)
	case tar.TypeFifo:
		err = unix.Mkfifo(at, 0o666)
	default:
		var f *os.File
		if f, err = os.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644); err == nil {
			_, err = io.WriteString(f, m.body)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return err
	}

	err = errors.Join(os.Chown(at, m.Uid, m.Uid), syscall.Chmod(at, uint32(m.Mode|0o600)))
	for key, value := range m.PAXRecords {
		if attribute, ok := strings.CutPrefix(key, "SCHILY.xattr."); ok {
			err = errors.Join(err, unix.Setxattr(at, attribute, []byte(value), 0))
		}
	}

	return err
}
