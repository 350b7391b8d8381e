package smb

import (
	"context"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// cached bounds how long the kernel trusts an answer about a name: another client may change it.
const cached = time.Second

// node is a file or folder of a share. Its place is its inode's place below top, which is the share itself; nil: the
// root of the file system.
type node struct {
	fs.Inode

	share *share
	top   *fs.Inode

	// counted: it is one of share.known.
	counted atomic.Bool
	// open is how often the file is open.
	open atomic.Int32
}

// The operations that the kernel finds.
var (
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)

	_ fs.NodeOnForgetter = (*node)(nil)
)

// at returns the node's path in the share, or that of an entry in it.
func (n *node) at(names ...string) (string, syscall.Errno) {
	for _, name := range names {
		// A separator of SMB, and what Windows' names do not have.
		if strings.ContainsAny(name, `\:*?"<>|`) {
			return "", syscall.EINVAL
		}
	}
	p := path.Join(append([]string{n.Path(n.top)}, names...)...)
	if p == "" {
		p = "."
	}
	return p, 0
}

// place returns the path in the share of an open file, or the node's where none is open: a file that was moved knows
// where it is, also where its node was found by another spelling of its name.
func (n *node) place(handle fs.FileHandle) (string, syscall.Errno) {
	if f, ok := handle.(*file); ok {
		return n.share.files.place(f)
	}
	return n.at()
}

// fill sets the attributes of a file. The server decides who may do what, so the mode allows everything, except that a
// read-only file says so.
func fill(info os.FileInfo, out *fuse.Attr) {
	out.Mode = syscall.S_IFREG | 0o666
	switch {
	case info.IsDir():
		out.Mode = syscall.S_IFDIR | 0o777
	case info.Mode()&0o200 == 0:
		out.Mode = syscall.S_IFREG | 0o444
	default:
		out.Mode |= 0o111
	}

	out.Size = uint64(max(0, info.Size()))
	out.Blocks = (out.Size + 511) / 512
	out.Nlink = 1
	at := info.ModTime()
	out.SetTimes(&at, &at, &at)
}

// child returns an entry of a folder: the same inode as long as the kernel knows it, by whose number Wine finds who
// else has a file open.
func (n *node) child(ctx context.Context, name string, info os.FileInfo, out *fuse.EntryOut) *fs.Inode {
	fill(info, &out.Attr)
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	mode := out.Mode & syscall.S_IFMT
	if known := n.GetChild(name); known != nil && known.StableAttr().Mode == mode {
		return known
	}
	return n.NewInode(ctx, n.made(), fs.StableAttr{Mode: mode})
}

// Lookup finds an entry of a folder.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	at, errno := n.at(name)
	if errno != 0 || n.share.files.doomed(at) {
		return nil, syscall.ENOENT
	}

	var info os.FileInfo
	errno = n.share.do(ctx, func(tree *smb2.Share) (err error) {
		info, err = tree.Stat(at)
		return err
	})
	if errno != 0 {
		return nil, errno
	}

	return n.child(ctx, name, info, out), 0
}

// Getattr says what a file is.
func (n *node) Getattr(ctx context.Context, handle fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	at, errno := n.place(handle)
	if errno != 0 {
		return errno
	}

	var info os.FileInfo
	errno = n.share.do(ctx, func(tree *smb2.Share) (err error) {
		info, err = tree.Stat(at)
		return err
	})
	if errno == 0 {
		fill(info, &out.Attr)
		out.SetTimeout(cached)
	}

	return errno
}

// Setattr changes the size, the times, and whether a file is read-only. Owners are not changed, and that is not said:
// the server knows none of ours.
func (n *node) Setattr(ctx context.Context, handle fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	at, errno := n.place(handle)
	if errno != 0 {
		return errno
	}
	if size, ok := in.GetSize(); ok {
		errno = n.truncate(ctx, handle, at, int64(min(size, 1<<62)))
	}

	if mtime, ok := in.GetMTime(); ok && errno == 0 {
		errno = n.share.do(ctx, func(tree *smb2.Share) error { return tree.Chtimes(at, mtime, mtime) })
	}
	if mode, ok := in.GetMode(); ok && errno == 0 && n.StableAttr().Mode == syscall.S_IFREG {
		errno = n.share.do(ctx, func(tree *smb2.Share) error { return tree.Chmod(at, os.FileMode(mode&0o777)) })
	}
	if errno != 0 {
		return errno
	}

	return n.Getattr(ctx, handle, out)
}

func (n *node) truncate(ctx context.Context, handle fs.FileHandle, at string, size int64) syscall.Errno {
	if f, ok := handle.(*file); ok && f.writes() {
		return f.do(ctx, func(f *smb2.File) error { return f.Truncate(size) })
	}
	return n.share.do(ctx, func(tree *smb2.Share) error { return tree.Truncate(at, size) })
}

// Readdir lists a folder.
func (n *node) Readdir(ctx context.Context) (fs.DirStream, syscall.Errno) {
	at, errno := n.at()
	if errno != 0 {
		return nil, errno
	}

	var entries []fuse.DirEntry
	errno = n.share.do(ctx, func(tree *smb2.Share) error {
		infos, err := tree.ReadDir(at)
		entries = nil
		for _, info := range infos {
			name := info.Name()
			if name == "." || name == ".." || name == "" || strings.ContainsAny(name, "/\x00") {
				continue // whatever the server says
			}
			mode := uint32(syscall.S_IFREG)
			if info.IsDir() {
				mode = syscall.S_IFDIR
			}
			entries = append(entries, fuse.DirEntry{Name: name, Mode: mode})
		}

		return err
	})
	if errno != 0 {
		return nil, errno
	}

	return fs.NewListDirStream(entries), 0
}

// Mkdir makes a folder.
func (n *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	at, errno := n.at(name)
	if errno != 0 {
		return nil, errno
	}

	var info os.FileInfo
	errno = n.share.do(ctx, func(tree *smb2.Share) error {
		err := tree.Mkdir(at, 0o777)
		if err == nil {
			info, err = tree.Stat(at)
		}
		return err
	})
	if errno != 0 {
		return nil, errno
	}

	return n.child(ctx, name, info, out), 0
}

// Unlink removes a file, at once or when it is no longer open.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno { return n.remove(ctx, name) }

// Rmdir removes an empty folder.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno { return n.remove(ctx, name) }

func (n *node) remove(ctx context.Context, name string) syscall.Errno {
	at, errno := n.at(name)
	if errno != 0 {
		return errno
	}
	return n.share.remove(ctx, at)
}

// renameNoReplace is RENAME_NOREPLACE of renameat2(2), the only flag that is known.
const renameNoReplace = 1

// Rename moves an entry, over a file that is there and that nobody has open, or over an empty folder.
func (n *node) Rename(
	ctx context.Context, name string, to fs.InodeEmbedder, toName string, flags uint32,
) syscall.Errno {
	folder, ok := to.(*node)
	if !ok || folder.share != n.share {
		return syscall.EXDEV
	}
	if flags&^renameNoReplace != 0 {
		return syscall.EINVAL
	}

	from, errno := n.at(name)
	if errno != 0 {
		return errno
	}
	target, errno := folder.at(toName)
	if errno != 0 {
		return errno
	}

	return n.share.move(ctx, from, target, flags&renameNoReplace == 0)
}

// Statfs says how much room there is.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.share.do(ctx, func(tree *smb2.Share) error {
		info, err := tree.Statfs(".")
		if err != nil {
			return err
		}
		size := info.BlockSize() * max(1, info.FragmentSize())
		out.Bsize, out.Frsize = uint32(size), uint32(size) // a cluster of a disk
		out.Blocks = info.TotalBlockCount()
		out.Bfree = info.FreeBlockCount()
		out.Bavail = info.AvailableBlockCount()
		out.NameLen = 255
		return nil
	})
}

// Open opens a file.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	at, errno := n.at()
	if errno != 0 {
		return nil, 0, errno
	}
	f, errno := n.share.open(ctx, at, int(flags)&^(os.O_CREATE|os.O_EXCL))
	if errno != 0 {
		return nil, 0, errno
	}
	n.opens(f)
	return f, 0, 0
}

// Create makes a file and opens it.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (
	*fs.Inode, fs.FileHandle, uint32, syscall.Errno,
) {
	at, errno := n.at(name)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	if n.share.files.doomed(at) {
		return nil, nil, 0, syscall.EACCES // as Windows answers while a file that was removed is still open
	}

	f, errno := n.share.open(ctx, at, int(flags)|os.O_CREATE)
	if errno != 0 {
		return nil, nil, 0, errno
	}

	var info os.FileInfo
	// Who opened it to write alone may not ask by that handle.
	errno = n.share.do(ctx, func(tree *smb2.Share) (err error) {
		info, err = tree.Stat(at)
		return err
	})
	if errno != 0 {
		_ = f.Release(ctx)
		return nil, nil, 0, errno
	}

	fill(info, &out.Attr)
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	child := n.made()
	child.opens(f)

	return n.NewInode(ctx, child, fs.StableAttr{Mode: syscall.S_IFREG}), f, 0, 0
}
