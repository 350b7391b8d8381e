package initiator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/keeper"
)

// kind is that of the file systems.
const kind = "iscsi"

// Names of the files of a session: what it is now; the same, after it has looked at the disks anew; of a disk, before
// its number.
const (
	statusFile = "status"
	rescanFile = "rescan"
	diskFile   = "disk"
)

// The numbers of inodes never change: a loop device is known by that of its file.
const (
	statusInode = 2
	rescanInode = 3
	firstInode  = 16
)

// folder is the root, with the files of a session.
type folder struct {
	fs.Inode

	kept *kept
}

// The operations that the kernel finds.
var (
	_ fs.NodeLookuper  = (*folder)(nil)
	_ fs.NodeOpener    = (*said)(nil)
	_ fs.NodeReader    = (*said)(nil)
	_ fs.NodeGetattrer = (*disk)(nil)
	_ fs.NodeSetattrer = (*disk)(nil)
	_ fs.NodeOpener    = (*disk)(nil)
	_ fs.NodeReader    = (*disk)(nil)
	_ fs.NodeWriter    = (*disk)(nil)
	_ fs.NodeFsyncer   = (*disk)(nil)
	_ fs.NodeAllocater = (*disk)(nil)
)

// serve answers the kernel. It believes nothing for longer than it asks.
func (k *kept) serve() (*fuse.Server, error) {
	var never time.Duration
	return fs.Mount("/dev/fd/"+strconv.Itoa(keeper.DeviceFD), &folder{kept: k}, &fs.Options{
		EntryTimeout: &never,
		AttrTimeout:  &never,
		MountOptions: fuse.MountOptions{
			MaxWrite:      iscsi.MostBytes,
			DisableXAttrs: true,
			Name:          kind,
		},
	})
}

// Lookup finds a file.
func (f *folder) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	switch name {
	case statusFile:
		return f.NewInode(ctx, &said{kept: f.kept}, fs.StableAttr{Mode: syscall.S_IFREG, Ino: statusInode}), 0
	case rescanFile:
		looks := &said{kept: f.kept, rescan: true}
		return f.NewInode(ctx, looks, fs.StableAttr{Mode: syscall.S_IFREG, Ino: rescanInode}), 0
	}

	text, ok := strings.CutPrefix(name, diskFile)
	n, err := strconv.ParseUint(text, 10, 16)
	if !ok || err != nil {
		return nil, syscall.ENOENT
	}

	d := &disk{kept: f.kept, number: uint32(n)}
	u, there := d.unit()
	if !there {
		return nil, syscall.ENOENT
	}
	fill(u, &out.Attr)
	return f.NewInode(ctx, d, fs.StableAttr{Mode: syscall.S_IFREG, Ino: firstInode + n}), 0
}

// said is a file that says what the session is.
type said struct {
	fs.Inode

	kept   *kept
	rescan bool
}

// Open turns the cache off: whoever opens the file reads what holds now.
func (s *said) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Read asks the session at offset 0, and returns the whole answer at once.
func (s *said) Read(ctx context.Context, _ fs.FileHandle, dest []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	if offset > 0 {
		return fuse.ReadResultData(nil), 0
	}
	fault := ""
	if s.rescan {
		if err := s.kept.look(context.WithoutCancel(ctx)); err != nil {
			fault = plaintext.OneLine(err.Error())
		}
	}

	said := s.kept.status()
	said.Rescan = fault
	data, err := json.Marshal(said)
	if err != nil || len(data) > len(dest) {
		return nil, syscall.EIO
	}

	return fuse.ReadResultData(data), 0
}

// disk is a file whose bytes are a disk's.
type disk struct {
	fs.Inode

	kept   *kept
	number uint32
}

func (d *disk) unit() (iscsi.Unit, bool) {
	d.kept.mu.Lock()
	defer d.kept.mu.Unlock()
	return unitOf(d.kept.units, d.number)
}

// fill says what a disk's file is.
func fill(u iscsi.Unit, out *fuse.Attr) {
	out.Mode = syscall.S_IFREG | 0o600
	if u.ReadOnly {
		out.Mode = syscall.S_IFREG | 0o400
	}
	out.Size = uint64(max(0, u.Size))
	out.Blocks = out.Size / 512
	out.Blksize = 4096
	out.Nlink = 1
}

// Getattr says what the file is.
func (d *disk) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	u, there := d.unit()
	if !there {
		return syscall.EIO
	}
	fill(u, &out.Attr)
	return 0
}

// Setattr changes nothing: the disk has its size.
func (d *disk) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, size := in.GetSize(); size {
		return syscall.EPERM
	}
	return d.Getattr(ctx, f, out)
}

// Open has the kernel keep none of the bytes: the file systems that are on them keep theirs.
func (d *disk) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if u, there := d.unit(); there && u.ReadOnly && flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, syscall.EROFS
	}
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// do does something with the disk, and says how it went.
func (d *disk) do(ctx context.Context, what deed) syscall.Errno {
	err := d.kept.do(ctx, d.number, what)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, iscsi.ErrPlace):
		return syscall.EINVAL
	}
	return syscall.EIO
}

// whole reports whether a place is of whole blocks that one command can have.
func whole(u iscsi.Unit, n int, offset int64) bool {
	return offset%u.Block == 0 && int64(n)%u.Block == 0 && n <= iscsi.MostBytes
}

// around returns the blocks that a place is in: where they begin, and room for them.
func around(u iscsi.Unit, n int, offset int64) (int64, []byte) {
	begin := offset / u.Block * u.Block
	end := (offset + int64(n) + u.Block - 1) / u.Block * u.Block
	return begin, make([]byte, end-begin)
}

// Read reads bytes.
func (d *disk) Read(ctx context.Context, _ fs.FileHandle, dest []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	u, there := d.unit()
	if !there || offset < 0 || offset >= u.Size {
		return fuse.ReadResultData(nil), 0
	}
	dest = dest[:min(int64(len(dest)), u.Size-offset)]
	if whole(u, len(dest), offset) {
		return fuse.ReadResultData(dest), d.move(ctx, (*iscsi.Session).ReadAt, dest, offset)
	}

	begin, blocks := around(u, len(dest), offset)
	errno := d.move(ctx, (*iscsi.Session).ReadAt, blocks, begin)
	copy(dest, blocks[offset-begin:])
	return fuse.ReadResultData(dest), errno
}

// move reads or writes whole blocks, by commands that each have as much as one can.
func (d *disk) move(ctx context.Context, how func(*iscsi.Session, context.Context, iscsi.Unit, []byte, int64) error,
	data []byte, offset int64,
) syscall.Errno {
	for len(data) > 0 {
		part := data[:min(len(data), iscsi.MostBytes)]
		errno := d.do(ctx, func(ctx context.Context, s *iscsi.Session, u iscsi.Unit) error {
			return how(s, ctx, u, part, offset)
		})
		if errno != 0 {
			return errno
		}
		data, offset = data[len(part):], offset+int64(len(part))
	}
	return 0
}

// Write writes bytes. File systems write whole blocks, and nobody writes to a block of theirs beside them.
func (d *disk) Write(ctx context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	u, there := d.unit()
	switch {
	case !there:
		return 0, syscall.EIO
	case offset < 0 || offset > u.Size || int64(len(data)) > u.Size-offset:
		return 0, syscall.ENOSPC
	case whole(u, len(data), offset):
		return uint32(len(data)), d.move(ctx, (*iscsi.Session).WriteAt, data, offset) // at most MostBytes
	}

	d.kept.partial.Lock()
	defer d.kept.partial.Unlock()

	begin, blocks := around(u, len(data), offset)
	errno := d.move(ctx, (*iscsi.Session).ReadAt, blocks, begin)
	copy(blocks[offset-begin:], data)
	if errno == 0 {
		errno = d.move(ctx, (*iscsi.Session).WriteAt, blocks, begin)
	}

	return uint32(len(data)), errno // at most MostBytes
}

// Fsync has the target write its cache.
func (d *disk) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	return d.do(ctx, func(ctx context.Context, s *iscsi.Session, u iscsi.Unit) error { return s.Flush(ctx, u) })
}

// Allocate discards a hole that is punched. Other requests are refused: the disk has all its bytes.
func (d *disk) Allocate(ctx context.Context, _ fs.FileHandle, offset, size uint64, mode uint32) syscall.Errno {
	u, there := d.unit()
	if !there || !u.Thin || mode != unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE ||
		offset > uint64(u.Size) || size > uint64(u.Size)-offset { // a size
		return syscall.EOPNOTSUPP
	}
	return d.do(ctx, func(ctx context.Context, s *iscsi.Session, u iscsi.Unit) error {
		return s.Discard(ctx, u, int64(offset), int64(size)) // within the disk
	})
}

// diskName returns the name of a disk's file.
func diskName(number uint32) string { return fmt.Sprintf("%s%d", diskFile, number) }
