package smb

import (
	"context"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// cached is how long the kernel believes what it was told of a name: another client may change it.
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

// at is the node's path in the share, or that of an entry in it.
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

// fill says what a file is. Who may what is the server's matter, so everybody may all; a file that is read-only says
// so.
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

func (n *node) child(ctx context.Context, info os.FileInfo, out *fuse.EntryOut) *fs.Inode {
	fill(info, &out.Attr)
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	return n.NewInode(ctx, n.made(), fs.StableAttr{Mode: out.Mode & syscall.S_IFMT})
}

// Lookup finds an entry of a folder.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	at, errno := n.at(name)
	if errno != 0 {
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
	return n.child(ctx, info, out), 0
}

// Getattr says what a file is.
func (n *node) Getattr(ctx context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	at, errno := n.at()
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
	at, errno := n.at()
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
	return n.child(ctx, info, out), 0
}

// Unlink removes a file.
func (n *node) Unlink(ctx context.Context, name string) syscall.Errno { return n.remove(ctx, name) }

// Rmdir removes an empty folder.
func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno { return n.remove(ctx, name) }

func (n *node) remove(ctx context.Context, name string) syscall.Errno {
	at, errno := n.at(name)
	if errno != 0 {
		return errno
	}
	return n.share.do(ctx, func(tree *smb2.Share) error { return tree.Remove(at) })
}

// renameNoReplace is RENAME_NOREPLACE of renameat2(2), the only flag that is known.
const renameNoReplace = 1

// Rename moves an entry, over a file that is there, as Linux does. SMB itself moves over nothing.
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
	errno = n.share.do(ctx, func(tree *smb2.Share) error { return tree.Rename(from, target) })
	if errno != syscall.EEXIST || flags&renameNoReplace != 0 || strings.EqualFold(from, target) {
		return errno
	}
	return n.share.do(ctx, func(tree *smb2.Share) error {
		err := tree.Remove(target)
		if err == nil || os.IsNotExist(err) {
			err = tree.Rename(from, target)
		}
		return err
	})
}

// Statfs says how much room there is.
func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.share.do(ctx, func(tree *smb2.Share) error {
		info, err := tree.Statfs(".")
		if err != nil {
			return err
		}
		size := info.BlockSize() * max(1, info.FragmentSize())
		out.Bsize, out.Frsize = uint32(size), uint32(size) //nolint:gosec // a cluster of a disk
		out.Blocks, out.Bfree, out.Bavail = info.TotalBlockCount(), info.FreeBlockCount(), info.AvailableBlockCount()
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
	f := &file{node: n, flags: int(flags) & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)}
	errno = f.open(ctx, at, f.flags|int(flags)&os.O_TRUNC)
	return f, 0, errno
}

// Create makes a file and opens it.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (
	*fs.Inode, fs.FileHandle, uint32, syscall.Errno,
) {
	at, errno := n.at(name)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	child := n.made()
	f := &file{node: child, flags: int(flags) & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR)}
	if errno := f.open(ctx, at, f.flags|os.O_CREATE|int(flags)&(os.O_TRUNC|os.O_EXCL)); errno != 0 {
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
	return n.NewInode(ctx, child, fs.StableAttr{Mode: syscall.S_IFREG}), f, 0, 0
}

// file is an open file. When its connection has been lost, it is opened again where its node is then.
type file struct {
	node  *node
	flags int // how it is opened again

	mu     sync.Mutex
	handle *smb2.File
	number int // of the connection
}

var (
	_ fs.FileReader   = (*file)(nil)
	_ fs.FileWriter   = (*file)(nil)
	_ fs.FileFsyncer  = (*file)(nil)
	_ fs.FileReleaser = (*file)(nil)
)

func (f *file) writes() bool { return f.flags&(os.O_WRONLY|os.O_RDWR) != 0 }

// open opens the file by a connection that works.
func (f *file) open(ctx context.Context, at string, flags int) syscall.Errno {
	return f.node.share.do(ctx, func(tree *smb2.Share) error {
		handle, err := tree.OpenFile(at, flags, 0o666)
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.handle == nil {
			f.node.open.Add(1)
		}
		f.handle, f.number = handle, f.node.share.current()
		return nil
	})
}

// do carries out something with the open file. The second time it is opened anew.
func (f *file) do(ctx context.Context, request func(*smb2.File) error) syscall.Errno {
	for try := 0; ; try++ {
		f.mu.Lock()
		handle, number := f.handle, f.number
		f.mu.Unlock()
		err := f.node.share.answered(number, func() error { return request(handle) })
		if err == nil {
			return 0
		}
		if !isLost(err) {
			return errnoOf(err)
		}
		f.node.share.lost(number)
		if try > 0 {
			return syscall.EIO
		}
		at, errno := f.node.at()
		if errno == 0 {
			errno = f.open(ctx, at, f.flags)
		}
		if errno != 0 {
			return errno
		}
	}
}

// Read reads at an offset.
func (f *file) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n := 0
	errno := f.do(ctx, func(f *smb2.File) (err error) {
		if n, err = f.ReadAt(dest, off); err == io.EOF { //nolint:errorlint // ReadAt's own
			err = nil
		}
		return err
	})
	return fuse.ReadResultData(dest[:n]), errno
}

// Write writes at an offset.
func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	n := 0
	errno := f.do(ctx, func(f *smb2.File) (err error) {
		n, err = f.WriteAt(data, off)
		return err
	})
	return uint32(n), errno //nolint:gosec // no longer than data
}

// Fsync has the server write to its disk.
func (f *file) Fsync(ctx context.Context, _ uint32) syscall.Errno {
	if !f.writes() {
		return 0
	}
	return f.do(ctx, func(f *smb2.File) error { return f.Sync() })
}

// Release closes the file.
func (f *file) Release(context.Context) syscall.Errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.handle.Close() // of a connection that is lost, nothing is open
	f.node.open.Add(-1)
	return 0
}
