package linuxrun

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// mostDepth bounds the folders in one another.
const mostDepth = 512

// upper writes the upper folder of a container's overlay as a layer. Programs have made all that is in it, so each name
// is looked up in its open folder, and no link is followed.
type upper struct {
	to *tar.Writer
	// mounted says what is left out, by names that begin with a slash.
	mounted func(name string) bool
	// links are the names in the layer of files that have several.
	links map[inode]string
	room  room
}

type inode struct{ device, number uint64 }

// room is what a layer may still have.
type room struct {
	files, bytes int64
}

// wholeRoom is that of a layer.
func wholeRoom() room { return room{files: imagebuild.MostFiles, bytes: imagebuild.MostBytes} }

// take takes files of so many bytes together out of the room.
func (r *room) take(files, size int64) error {
	if size < 0 || size > r.bytes || files > r.files {
		return fmt.Errorf("it is more than %d files or %d GiB: %w", imagebuild.MostFiles, imagebuild.MostBytes>>30,
			errdefs.ErrInvalidArgument)
	}
	r.files -= files
	r.bytes -= size
	return nil
}

// writeUpper writes what is in an upper folder but for what mounted names.
func writeUpper(ctx context.Context, dir string, mounted func(string) bool, w io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()

	u := &upper{
		to:      tar.NewWriter(w),
		mounted: mounted,
		links:   map[inode]string{},
		room:    wholeRoom(),
	}
	if err := u.folder(ctx, root, "", 0); err != nil {
		return err
	}

	return u.to.Close()
}

// folder writes what is in a folder, which is open and has a name in the layer.
func (u *upper) folder(ctx context.Context, at *os.Root, name string, depth int) error {
	if depth > mostDepth {
		return fmt.Errorf("there are more than %d folders in one another: %w", mostDepth, errdefs.ErrInvalidArgument)
	}
	bases, err := u.names(ctx, at)
	if err != nil {
		return err
	}

	for _, base := range bases {
		if err := ctx.Err(); err != nil {
			return err
		}
		whole := path.Join(name, base)
		if u.mounted("/" + whole) {
			continue
		}
		if err := u.entry(ctx, at, base, whole, depth); err != nil {
			return err
		}
	}

	return nil
}

// atATime is how many names are read at a time.
const atATime = 1024

// names returns the sorted names in a folder. Each takes its room before it is looked at.
func (u *upper) names(ctx context.Context, at *os.Root) ([]string, error) {
	folder, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()

	var all []string
	for {
		some, err := folder.Readdirnames(atATime)
		for _, name := range some {
			if err := errors.Join(ctx.Err(), u.room.take(1, 0)); err != nil {
				return nil, err
			}
			all = append(all, name)
		}

		if errors.Is(err, io.EOF) {
			slices.Sort(all)
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// entry writes a file, or a folder with what is in it.
func (u *upper) entry(ctx context.Context, at *os.Root, base, name string, depth int) error {
	info, err := at.Lstat(base)
	if err != nil {
		return err
	}
	if engine.IsWhiteout(info) {
		return u.to.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg,
			Name:     path.Join(path.Dir(name), imagebuild.Whiteout+base),
			ModTime:  time.Unix(0, 0),
		})
	}

	if strings.HasPrefix(base, imagebuild.Whiteout) {
		return fmt.Errorf("%q: in a layer such a name says that a file is deleted: %w", name, errdefs.ErrInvalidArgument)
	}

	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errdefs.ErrNotImplemented
	}
	h := &tar.Header{
		Format:  tar.FormatPAX,
		Name:    name,
		Mode:    int64(stat.Mode & permissionBits),
		Uid:     ownID(stat.Uid),
		Gid:     ownID(stat.Gid),
		ModTime: info.ModTime().Truncate(time.Second),
	}

	if info.IsDir() {
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		return u.subfolder(ctx, at, name, h, depth)
	}
	if err := u.leaf(ctx, at, h, stat, info.Mode().Type()); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}

	return nil
}

// leaf writes what is no folder.
func (u *upper) leaf(ctx context.Context, at *os.Root, h *tar.Header, stat *syscall.Stat_t, kind os.FileMode,
) (err error) {
	base := path.Base(h.Name)
	switch kind {
	case os.ModeSymlink:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = at.Readlink(base); err != nil {
			return err
		}
	case os.ModeNamedPipe:
		h.Typeflag = tar.TypeFifo
	case os.ModeSocket: // its server is gone
		return nil
	case 0:
		return u.file(ctx, at, base, h, stat)
	default:
		return fmt.Errorf("it is a device: %w", errdefs.ErrInvalidArgument)
	}

	return u.to.WriteHeader(h)
}

// permissionBits are those of a mode, and those of set-user-id, set-group-id and the sticky bit.
const permissionBits = 0o7777

// ownID returns the user of the container that one of the machine is. What the machine's root has made, as the place of
// a mount, is the container's root's.
func ownID(id uint32) int {
	if id < Owner || id >= Owner+users {
		return 0
	}
	return int(id - Owner)
}

func (u *upper) subfolder(ctx context.Context, at *os.Root, name string, h *tar.Header, depth int) error {
	folder, err := at.OpenRoot(path.Base(name))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	if err := u.to.WriteHeader(h); err != nil {
		return err
	}

	file, err := folder.Open(".")
	if err != nil {
		return err
	}
	opaque := engine.IsOpaque(file)
	if err := file.Close(); err != nil {
		return err
	}

	if opaque {
		err := u.to.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg,
			Name:     path.Join(name, imagebuild.OpaqueWhiteout),
			ModTime:  time.Unix(0, 0),
		})
		if err != nil {
			return err
		}
	}

	return u.folder(ctx, folder, name, depth+1)
}

// file writes a regular file. One with several names is a link from its second on.
func (u *upper) file(ctx context.Context, at *os.Root, base string, h *tar.Header, stat *syscall.Stat_t) error {
	if stat.Nlink > 1 {
		number := inode{stat.Dev, stat.Ino}
		if first, ok := u.links[number]; ok {
			h.Typeflag, h.Linkname = tar.TypeLink, first
			return u.to.WriteHeader(h)
		}
		u.links[number] = h.Name
	}

	if err := u.room.take(0, stat.Size); err != nil {
		return err
	}
	file, _, err := beneath.Open(at, base)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()

	h.Typeflag, h.Size = tar.TypeReg, stat.Size
	capability, err := capabilityOf(file)
	if err != nil {
		return err
	}
	if capability != "" {
		h.PAXRecords = map[string]string{xattrRecord + capabilityName: capability}
	}

	if err := u.to.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(u.to, interruptible{ctx, file}, h.Size)
	return err
}

// interruptible is a reader that ends with a context.
type interruptible struct {
	ctx  context.Context //nolint:containedctx // io.Reader has none.
	from io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// capabilityOf returns the capabilities of a file as an image has them; "": it has none.
func capabilityOf(file *os.File) (string, error) {
	var value [ownCapability]byte
	n, err := unix.Fgetxattr(int(file.Fd()), capabilityName, value[:])
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return imageCapability(string(value[:n])), nil
}
