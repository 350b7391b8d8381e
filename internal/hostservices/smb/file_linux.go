package smb

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"
	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// file is an open file. It may have no handle of the server: then the next request opens it again, where it is then.
// That is so after its connection was lost, after a program closed one of several descriptors of it, and after it was
// renamed: the library opens files so that the server refuses to rename them meanwhile.
type file struct {
	share *share
	flags int // how it is opened again
	of    *node

	use sync.RWMutex // shared by requests, held alone by who closes the handle or renames the file

	mu     sync.Mutex
	handle *smb2.File // nil: it is opened by the next request
	number int        // of the connection
}

var (
	_ fs.FileReader   = (*file)(nil)
	_ fs.FileWriter   = (*file)(nil)
	_ fs.FileFsyncer  = (*file)(nil)
	_ fs.FileFlusher  = (*file)(nil)
	_ fs.FileReleaser = (*file)(nil)
)

// openFiles are the files of a share that are open, and where they are. Names of SMB have no case.
type openFiles struct {
	change sync.Mutex // one renaming or removal at a time: it holds several files

	mu  sync.Mutex
	all map[*file]place
}

// place is the path of an open file in its share, "" once the file is gone.
type place struct {
	at     string
	doomed bool // it was removed, which is done when it is closed
}

// place returns the path of a file. ESTALE says that it was removed, or that another was moved over it.
func (o *openFiles) place(f *file) (string, syscall.Errno) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.all[f]; p.at != "" {
		return p.at, 0
	}
	return "", syscall.ESTALE
}

func (o *openFiles) set(f *file, p place) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*file]place{}
	}
	o.all[f] = p
}

// doomed reports whether a file was removed that is still open.
func (o *openFiles) doomed(at string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.all {
		if p.doomed && strings.EqualFold(p.at, at) {
			return true
		}
	}
	return false
}

// update has the open files that are at a path, or below it, be where by says.
func (o *openFiles) update(at string, by func(p place, rest string) place) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f, p := range o.all {
		if rest, ok := below(p.at, at); ok {
			o.all[f] = by(p, rest)
		}
	}
}

// hold returns the open files that are at a path, and all those below it, after which none of them is used before
// release is called.
func (o *openFiles) hold(at string) (there []*file, release func()) {
	var held []*file
	o.mu.Lock()
	for f, p := range o.all {
		rest, ok := below(p.at, at)
		if !ok {
			continue
		}
		held = append(held, f)
		if rest == "" {
			there = append(there, f)
		}
	}

	o.mu.Unlock()
	for _, f := range held {
		f.use.Lock()
	}

	return there, func() {
		for _, f := range held {
			f.use.Unlock()
		}
	}
}

// below returns what a path has after another one, with its slash, if it is the same or below that.
func below(path, above string) (rest string, ok bool) {
	if len(path) < len(above) || !strings.EqualFold(path[:len(above)], above) {
		return "", false
	}
	rest = path[len(above):]
	return rest, rest == "" || rest[0] == '/'
}

// open opens a file.
func (s *share) open(ctx context.Context, at string, flags int) (*file, syscall.Errno) {
	const ways = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	f := &file{share: s, flags: flags & ways}
	f.use.RLock() // who renames it waits
	defer f.use.RUnlock()
	s.files.set(f, place{at: at})
	_, _, errno := f.opened(ctx, flags&(ways|os.O_CREATE|os.O_TRUNC|os.O_EXCL))
	if errno != 0 {
		s.files.forget(f)
		return nil, errno
	}
	return f, 0
}

// opened returns the file's handle and the number of its connection. flags are how it is opened if it has none.
func (f *file) opened(ctx context.Context, flags int) (*smb2.File, int, syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle != nil {
		return f.handle, f.number, 0
	}
	at, errno := f.share.files.place(f)
	if errno != 0 {
		return nil, 0, errno
	}

	errno = f.share.do(ctx, func(tree *smb2.Share) (err error) {
		handle, err := tree.OpenFile(at, flags, 0o666)
		if err == nil {
			f.handle, f.number = handle, f.share.current()
		}
		return err
	})

	return f.handle, f.number, errno
}

// close closes the handle. Whoever calls it holds the file alone.
func (f *file) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle == nil {
		return
	}
	// of a connection that is lost, nothing is open
	_ = f.share.answered(f.number, f.handle.Close)
	f.handle = nil
}

func (f *file) writes() bool { return f.flags&(os.O_WRONLY|os.O_RDWR) != 0 }

// do carries out something with the open file. The second time it is opened anew.
func (f *file) do(ctx context.Context, request func(*smb2.File) error) syscall.Errno {
	f.use.RLock()
	defer f.use.RUnlock()

	for try := 0; ; try++ {
		handle, number, errno := f.opened(ctx, f.flags)
		if errno != 0 {
			return errno
		}

		err := f.share.answered(number, func() error { return request(handle) })
		if err == nil {
			return 0
		}
		if !isLost(err) {
			return errnoOf(err)
		}

		f.share.lost(number)
		f.lost(handle)
		if try > 0 {
			return syscall.EIO
		}
	}
}

// lost forgets a handle of a connection that does not work.
func (f *file) lost(handle *smb2.File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.handle == handle {
		f.handle = nil
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
	return uint32(n), errno // no longer than data
}

// Fsync has the server write to its disk.
func (f *file) Fsync(ctx context.Context, _ uint32) syscall.Errno {
	if !f.writes() {
		return 0
	}
	return f.do(ctx, func(f *smb2.File) error { return f.Sync() })
}

// flushTimeout is how long a program that closes a file waits for the server: Wine's server closes files for all
// programs of a container.
const flushTimeout = 2 * time.Second

// Flush closes the handle: close(2) waits for it, and not for Release, so that who closes a file can rename or remove
// it then, here and elsewhere. If a descriptor of the file is left, its next use opens it again.
func (f *file) Flush(ctx context.Context) syscall.Errno {
	closed := make(chan struct{})
	go func() { // it ends when the server answers, or its connection is given up
		defer close(closed)
		f.use.Lock()
		defer f.use.Unlock()
		f.close()
	}()

	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-closed:
	case <-ctx.Done():
	case <-timer.C:
	}

	return 0
}

// Release closes the file for good, and removes it if that was asked for.
func (f *file) Release(ctx context.Context) syscall.Errno {
	f.use.Lock()
	f.close()
	f.use.Unlock()
	if f.of != nil { // nil: who made it failed before the kernel was told of it
		f.of.open.Add(-1)
	}
	if f.share.files.forgetUnlessDoomed(f) {
		return 0
	}

	// Nobody makes a file of that name before the server has answered.
	f.share.files.change.Lock()
	defer f.share.files.change.Unlock()
	defer f.share.files.forget(f)
	at, last := f.share.files.last(f)
	if !last {
		return 0
	}

	return f.share.do(ctx, func(tree *smb2.Share) error { return tree.Remove(at) })
}

// forgetUnlessDoomed ends that a file is open, unless it was removed.
func (o *openFiles) forgetUnlessDoomed(f *file) (forgotten bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[f].doomed {
		return false
	}
	delete(o.all, f)
	return true
}

// last returns the path of a removed file, and whether nobody else has it open.
func (o *openFiles) last(f *file) (at string, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at = o.all[f].at
	for other, p := range o.all {
		if other != f && p.doomed && strings.EqualFold(p.at, at) {
			return at, false
		}
	}
	return at, true
}

// forget notes that a file is closed.
func (o *openFiles) forget(f *file) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, f)
}

// move renames a file or a folder. over replaces an existing file, unless somebody has it open. Files that are open
// here stay the same files. A server does not rename a folder while a file below it is open, here or elsewhere.
func (s *share) move(ctx context.Context, from, to string, over bool) syscall.Errno {
	s.files.change.Lock()
	defer s.files.change.Unlock()

	same := strings.EqualFold(from, to)
	if !over && !same {
		errno := s.do(ctx, func(tree *smb2.Share) error {
			_, err := tree.Stat(to)
			return err
		})
		if errno == 0 {
			return syscall.EEXIST
		}
	}

	there, release := s.files.hold(from)
	defer release()

	rename := func(tree *smb2.Share) error { return tree.Rename(from, to) }
	errno := s.do(ctx, rename)
	if errno == syscall.ETXTBSY && len(there) > 0 {
		for _, f := range there {
			f.close()
		}
		errno = s.do(ctx, rename)
	}
	if errno == syscall.EEXIST && over && !same { // a folder
		errno = s.do(ctx, func(tree *smb2.Share) error {
			err := tree.Remove(to)
			if err == nil || os.IsNotExist(err) {
				err = tree.Rename(from, to)
			}
			return err
		})
	}
	if errno != 0 {
		return errno
	}

	if !same {
		s.files.update(to, func(place, string) place { return place{} })
	}
	s.files.update(from, func(p place, rest string) place { return place{at: to + rest, doomed: p.doomed} })
	return 0
}

// remove removes a file or an empty folder. A file that is open here is removed when it is closed, as on Windows if its
// opener allows deletion, which SMB does not tell us. Until then it is listed, but nobody can open it.
func (s *share) remove(ctx context.Context, at string) syscall.Errno {
	s.files.change.Lock()
	defer s.files.change.Unlock()

	errno := s.do(ctx, func(tree *smb2.Share) error { return tree.Remove(at) })
	if errno == syscall.ETXTBSY {
		s.files.update(at, func(p place, _ string) place {
			errno = 0
			return place{at: p.at, doomed: true}
		})
		return errno
	}
	if errno == 0 {
		s.files.update(at, func(place, string) place { return place{} })
	}

	return errno
}
