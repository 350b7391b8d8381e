package smb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/hostservices/tickets"
	"mullion.dev/mullion/internal/windows/wire/credspec"
	"mullion.dev/mullion/internal/windows/wire/smbmapping"
)

// Tree says whose shares a tree has: those of all servers, as <server>/<share>, which are connected when they are
// looked up, by the account that a container has a ticket of.
type Tree struct {
	// Program is a program that calls KeepTree when its first argument is keeper.Shares.
	Program string
	// Container names the container.
	Container string
	// NetNS is the path of its network namespace, from which servers and the domain's controllers are asked.
	NetNS string
	// Files is the folder of the container's credential cache and of its configuration of Kerberos. They are read when
	// a server is connected. The container may write there.
	Files string
	// Names is how names are resolved.
	Names Names
}

// Mount starts the process that keeps the tree, and returns the root of its mount, which is attached nowhere. The
// process ends when that is closed and the tree is mounted nowhere. When it is killed, who uses the tree gets errors.
func (t Tree) Mount(ctx context.Context) (_ *os.File, err error) {
	device, err := keeper.OpenDevice()
	if err != nil {
		return nil, err
	}
	defer device.Close()

	mount, err := keeper.MakeMount(device, "smb", kind)
	if err != nil {
		return nil, fmt.Errorf("mount SMB shares: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, mount.Close())
		}
	}()

	files, err := os.OpenFile(t.Files, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer files.Close()

	_, input, output, err := keeper.Process{
		Program: t.Program,
		Command: keeper.Shares,
		Name:    t.Container,
		Files:   []*os.File{device, files},
		Netns:   t.NetNS,
	}.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("start what keeps SMB shares: %w", err)
	}

	return mount, errors.Join(json.NewEncoder(input).Encode(t.Names), input.Close(), output.Close())
}

// filesFD is the descriptor of Tree.Files.
const filesFD = keeper.DeviceFD + 1

// KeepTree is a process that keeps a Tree, as a user without rights. It reads the Names from in.
func KeepTree(in io.Reader) error {
	if err := keeper.Settle(); err != nil {
		return err
	}
	t := &tree{files: filesFD, shares: map[string]*share{}}
	if err := json.NewDecoder(in).Decode(&t.names); err != nil {
		return fmt.Errorf("read how names are resolved: %w", err)
	}

	server, err := serve(&top{tree: t}, 0)
	if err != nil {
		return err
	}
	server.Wait()
	return nil
}

// mostShares bounds the shares that a container uses.
const mostShares = 64

// tree has the shares that were looked up.
type tree struct {
	files int
	names Names

	mu     sync.Mutex
	shares map[string]*share // by server/share
}

// find returns a share, whether it is connected or not. When there are too many, those are forgotten that have never
// been connected: they are kept so that what has just failed is not tried again.
func (t *tree) find(server, name string) (*share, syscall.Errno) {
	server, name, err := smbmapping.Split(`\\` + server + `\` + name)
	if err != nil {
		return nil, syscall.ENOENT
	}
	t.mu.Lock()
	defer t.mu.Unlock()

	key := path.Join(server, name)
	if s := t.shares[key]; s != nil {
		return s, 0
	}

	if len(t.shares) >= mostShares {
		for key, s := range t.shares {
			if s.neverConnected() {
				delete(t.shares, key)
			}
		}
	}

	if len(t.shares) >= mostShares {
		return nil, syscall.EMFILE
	}

	s := &share{
		known: known{most: mostKnown},
		target: Target{
			Server:    server,
			Share:     name,
			Integrity: true,
		},
		way: way{
			dial:  t.names.dial,
			logon: func(ctx context.Context) (smb2.Initiator, error) { return t.logon(ctx, "cifs/"+server) },
		},
	}

	t.shares[key] = s
	return s, 0
}

// logon returns what logs on to a service as the container's account.
func (t *tree) logon(ctx context.Context, service string) (smb2.Initiator, error) {
	cache, err := t.read(path.Base(credspec.CacheFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", credspec.ErrRefused, err)
	}
	config, err := t.read(path.Base(credspec.ConfigFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", credspec.ErrRefused, err)
	}

	client, err := tickets.Service(ctx, cache, config, service, t.names.dial)
	if err != nil {
		return nil, err
	}
	return &smb2.Krb5Initiator{Client: client, TargetSPN: service}, nil
}

// mostBytes bounds the files that are read.
const mostBytes = 256 << 10

// read reads a file of the container's, which may have put something else in its place.
func (t *tree) read(name string) ([]byte, error) {
	fd, err := unix.Openat2(t.files, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, &os.PathError{
			Op:   "open",
			Path: name,
			Err:  err,
		}
	}

	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", name)
	}

	return io.ReadAll(io.LimitReader(file, mostBytes))
}

// folder is what top and server are to the kernel.
func folder(out *fuse.Attr) {
	out.Mode = syscall.S_IFDIR | 0o555
	out.Nlink = 1
}

// top is the root of a tree, which has all servers. It lists none.
type top struct {
	fs.Inode

	tree *tree
}

// server has the shares of a server. It lists those that were looked up.
type server struct {
	fs.Inode

	tree *tree
	name string
}

// closed is a share that the container's account may not use. A share that could not be looked up would be one that is
// not there: Wine says so of each name that it finds no folder for.
type closed struct{ fs.Inode }

// The operations that the kernel finds.
var (
	_ fs.NodeGetattrer = (*top)(nil)
	_ fs.NodeLookuper  = (*top)(nil)
	_ fs.NodeReaddirer = (*top)(nil)
	_ fs.NodeGetattrer = (*server)(nil)
	_ fs.NodeLookuper  = (*server)(nil)
	_ fs.NodeReaddirer = (*server)(nil)
	_ fs.NodeGetattrer = (*closed)(nil)
	_ fs.NodeLookuper  = (*closed)(nil)
	_ fs.NodeOpendirer = (*closed)(nil)
	_ fs.NodeCreater   = (*closed)(nil)
	_ fs.NodeMkdirer   = (*closed)(nil)
)

// Getattr says that it is a folder.
func (*top) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	folder(&out.Attr)
	return 0
}

// Lookup finds a server by any name that one may have, without asking for it.
func (t *top) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if _, _, err := smbmapping.Split(`\\` + name + `\share`); err != nil {
		return nil, syscall.ENOENT
	}
	folder(&out.Attr)
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	if known := t.GetChild(name); known != nil {
		return known, 0
	}
	return t.NewInode(ctx, &server{tree: t.tree, name: name}, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
}

// Readdir lists nothing.
func (*top) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewListDirStream(nil), 0
}

// Getattr says that it is a folder.
func (*server) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	folder(&out.Attr)
	return 0
}

// Lookup connects a share.
func (s *server) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	share, errno := s.tree.find(s.name, name)
	if errno != 0 {
		return nil, errno
	}

	if _, _, err := share.connection(ctx); err != nil {
		if errnoOf(err) != syscall.EACCES {
			return nil, syscall.ENOENT
		}
		folder(&out.Attr)
		out.SetEntryTimeout(cached) // and no time for the attributes: Getattr is asked, which refuses
		return s.NewInode(ctx, &closed{}, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
	}

	var info os.FileInfo
	errno = share.do(ctx, func(tree *smb2.Share) (err error) {
		info, err = tree.Stat(".")
		return err
	})
	if errno != 0 {
		return nil, errno
	}

	fill(info, &out.Attr)
	out.SetEntryTimeout(cached)
	out.SetAttrTimeout(cached)
	if known := s.GetChild(name); known != nil {
		if _, ok := known.Operations().(*node); ok { // and not closed
			return known, 0
		}
	}

	child := &node{share: share}
	child.top = &child.Inode
	return s.NewInode(ctx, child, fs.StableAttr{Mode: syscall.S_IFDIR}), 0
}

// Readdir lists the connected shares, and the closed ones: Wine searches this list for a name that it cannot open.
func (s *server) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var entries []fuse.DirEntry
	for _, name := range s.tree.sharesOf(s.name) {
		entries = append(entries, fuse.DirEntry{Name: name, Mode: syscall.S_IFDIR})
	}
	return fs.NewListDirStream(entries), 0
}

// sharesOf returns the shares of a server that are there.
func (t *tree) sharesOf(server string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, s := range t.shares {
		if s.target.Server == strings.ToLower(server) && s.isThere() {
			names = append(names, s.target.Share)
		}
	}
	return names
}

// Getattr refuses.
func (*closed) Getattr(context.Context, fs.FileHandle, *fuse.AttrOut) syscall.Errno {
	return syscall.EACCES
}

// Lookup refuses.
func (*closed) Lookup(context.Context, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EACCES
}

// Opendir refuses.
func (*closed) Opendir(context.Context) syscall.Errno { return syscall.EACCES }

// Create refuses.
func (*closed) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (
	*fs.Inode, fs.FileHandle, uint32, syscall.Errno,
) {
	return nil, nil, 0, syscall.EACCES
}

// Mkdir refuses.
func (*closed) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return nil, syscall.EACCES
}
