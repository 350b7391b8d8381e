package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"
)

// A volume is a folder of the machine that containers mount one after the other, with the ids that are on disk. Its
// first container's user owns it, and it begins with what that container's image has at its place.

// volumeMode lets both users of containers write to a volume. Nobody else reaches it.
const volumeMode = 0o777

// GiveVolume gives a volume, an open folder, to the user uid of a container.
func (e *Engine) GiveVolume(volume *os.Root, uid uint32) error {
	owner := int(e.diskID(uid))
	if err := errors.Join(volume.Chown(".", owner, owner), volume.Chmod(".", volumeMode)); err != nil {
		return fmt.Errorf("give volume to the container's user: %w", err)
	}
	return nil
}

// FillVolume copies what an image has at a Windows path into a volume that is empty. id names what is made for that,
// and is no container's. An image that has no folder there leaves the volume empty.
func (e *Engine) FillVolume(ctx context.Context, id, chainID, winPath string, volume *os.Root) error {
	layers := e.opts.SystemLayers
	if chainID != "" {
		ctx := e.with(ctx)
		ctx, release, err := e.client.WithLease(ctx) // whoever is killed leaves nothing that is not collected
		if err != nil {
			return fmt.Errorf("lease view of the image: %w", err)
		}
		defer func() { _ = release(context.WithoutCancel(ctx)) }()

		snapshots := e.client.SnapshotService(e.opts.Snapshotter)
		mounts, err := snapshots.View(ctx, id, chainID)
		if err != nil {
			return fmt.Errorf("look at the image's layers: %w", err)
		}
		defer func() { _ = snapshots.Remove(context.WithoutCancel(ctx), id) }()

		own, err := viewLayers(mounts)
		if err != nil {
			return err
		}
		layers = append(own, layers...)
	}

	t, err := resolveTarget(layers, winPath)
	if err != nil {
		return err
	}
	if t.exists < len(t.parts) || !t.isDir {
		return nil
	}

	c := layerCopy{
		ctx: ctx,
		to:  volume,
		id:  e.diskID,

		linked: map[inode]string{},
	}
	if err := c.folder(t.merged, "."); err != nil {
		return fmt.Errorf("copy %s of the image into the volume: %w", winPath, err)
	}
	return nil
}

// viewLayers returns the layers of a view of a snapshot, top first: a view of one layer is that one, bound.
func viewLayers(mounts []mount.Mount) ([]string, error) {
	if len(mounts) == 1 && mounts[0].Type == "bind" {
		return []string{mounts[0].Source}, nil
	}
	o, err := overlayOf(mounts)
	return slices.Clone(o.lower), err
}

// layerCopy copies a folder of layers, merged as overlayfs merges them, whose files belong to ids of a container.
// Links are copied as they are, and followed by nobody here; what is no file, folder or link is left out.
type layerCopy struct {
	ctx context.Context //nolint:containedctx // It ends with the copy.
	to  *os.Root
	id  func(uint32) uint32

	linked map[inode]string // the copies of files that have several names
}

// folder copies what is in a folder: that is in several layers, top first. at is the copy's path.
func (c layerCopy) folder(dirs []string, at string) error {
	seen := map[string]bool{}
	for i, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}

		for _, e := range entries {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			if seen[e.Name()] {
				continue
			}
			seen[e.Name()] = true

			info, err := e.Info()
			if err == nil && !IsWhiteout(info) {
				err = c.entry(dirs[i:], info, filepath.Join(at, e.Name()))
			}
			if err != nil {
				return err
			}
		}

		if isOpaque(dir) {
			break
		}
	}

	return nil
}

// entry copies what is in the first of some folders.
func (c layerCopy) entry(dirs []string, info os.FileInfo, at string) error {
	from := filepath.Join(dirs[0], info.Name())
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("look at %q: no owner is known", from)
	}

	own := func() error { return c.to.Lchown(at, int(c.id(stat.Uid)), int(c.id(stat.Gid))) }
	switch kind := info.Mode().Type(); {
	case kind == os.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return errors.Join(c.to.Symlink(target, at), own())

	case kind == os.ModeDir:
		if err := c.to.Mkdir(at, 0o700); err != nil {
			return err
		}
		if err := c.folder(mergedFolders(dirs, info.Name()), at); err != nil {
			return err
		}
		if err := c.attributes(from, at); err != nil {
			return err
		}

	case kind == 0:
		file := inode{dev: stat.Dev, ino: stat.Ino}
		if first, there := c.linked[file]; there {
			return c.to.Link(first, at)
		}
		if err := c.file(from, at); err != nil {
			return err
		}
		if stat.Nlink > 1 {
			c.linked[file] = at
		}

	default:
		return nil
	}

	// The mode is last: a change of owner takes bits of it.
	return errors.Join(own(), c.to.Chmod(at, info.Mode().Perm()), c.to.Chtimes(at, info.ModTime(), info.ModTime()))
}

// mergedFolders returns the folders that make up the folder of that name which the first of dirs has.
func mergedFolders(dirs []string, name string) (below []string) {
	for _, dir := range dirs {
		full := filepath.Join(dir, name)
		info, err := os.Lstat(full)
		if err == nil && !info.IsDir() {
			break // what lies below a file, a link or a whiteout is hidden
		}
		if err == nil {
			below = append(below, full)
		}
		if (err == nil && isOpaque(full)) || isOpaque(dir) {
			break
		}
	}
	return below
}

// file copies a file: its holes stay holes, as its names stay those of one file, or a few bytes of an image would fill
// any disk.
func (c layerCopy) file(from, at string) (err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%q is no file any more", from))
	}

	out, err := c.to.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := copyData(in, out, info.Size()); err != nil {
		return err
	}
	return copyUserAttributes(in, out)
}

// copyData copies what of a file is data.
func copyData(in, out *os.File, size int64) error {
	for at := int64(0); at < size; {
		begin, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // the rest is a hole
		}
		if err != nil {
			return fmt.Errorf("look for data of %q: %w", in.Name(), err)
		}
		end, err := unix.Seek(int(in.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			return fmt.Errorf("look for a hole of %q: %w", in.Name(), err)
		}

		_, err = in.Seek(begin, io.SeekStart)
		if err == nil {
			_, err = out.Seek(begin, io.SeekStart)
		}
		if err == nil {
			_, err = io.CopyN(out, in, end-begin)
		}
		if err != nil {
			return err
		}
		at = end
	}

	return out.Truncate(size)
}

// attributes copies the attributes of a folder.
func (c layerCopy) attributes(from, at string) error {
	const flags = os.O_RDONLY | unix.O_NOFOLLOW | unix.O_DIRECTORY
	in, err := os.OpenFile(from, flags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.to.OpenFile(at, flags, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	return copyUserAttributes(in, out)
}

// mostAttribute is more than any file system has of names or values, in bytes (XATTR_SIZE_MAX in linux/limits.h).
const mostAttribute = 64 << 10

// copyUserAttributes copies the attributes in which Wine keeps those of Windows. Others are Linux', and overlayfs'.
func copyUserAttributes(in, out *os.File) error {
	list := make([]byte, mostAttribute)
	n, err := unix.Flistxattr(int(in.Fd()), list)
	if err != nil {
		return fmt.Errorf("list attributes of %q: %w", in.Name(), err)
	}

	value := make([]byte, mostAttribute)
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		n, err := unix.Fgetxattr(int(in.Fd()), name, value)
		if err == nil {
			err = unix.Fsetxattr(int(out.Fd()), name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("copy attribute %s of %q: %w", name, in.Name(), err)
		}
	}

	return nil
}

// FolderSize returns how many bytes a folder takes of the disk.
func FolderSize(ctx context.Context, dir string) (int64, error) {
	m := meter{linked: map[inode]bool{}}
	err := m.measure(ctx, dir)
	return int64(m.bytes), err
}
