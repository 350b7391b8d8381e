package single

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

// scratches are the names of the folders that clients make for their containers.
const scratches = "scratch-*"

// Scratch is a folder for what a container is to read and write. Nobody but root gets to it by its name.
type Scratch struct {
	// Dir is the folder's path.
	Dir  string
	lock *os.File
}

// NewScratch makes a folder, and removes those of clients that were killed. The caller calls Remove.
func (c *Client) NewScratch(ctx context.Context) (*Scratch, error) {
	if err := c.Paths.Prepare(); err != nil {
		return nil, err
	}
	starting, err := hold(ctx, c.Paths.starting()) // nobody clears meanwhile
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	if err := c.Paths.clearLeft(); err != nil {
		return nil, fmt.Errorf("clear what an earlier command left: %w", err)
	}

	dir, err := os.MkdirTemp(c.Paths.Data, scratches)
	if err != nil {
		return nil, err
	}

	lock, err := os.Open(dir)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %q: %w", dir, err), os.Remove(dir)) // it is empty
	}

	return &Scratch{Dir: dir, lock: lock}, nil
}

// Remove removes the folder, whatever a container has put there.
func (s *Scratch) Remove() error {
	defer s.lock.Close() // after the removal: it says that the folder is used
	parent, err := os.OpenRoot(filepath.Dir(s.Dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return beneath.RemoveAll(parent, filepath.Base(s.Dir))
}

// clearLeft removes the archives and folders of clients that were killed. The caller holds the lock of who starts an
// engine.
func (p Paths) clearLeft() error {
	var errs []error
	for _, pattern := range []string{archives, scratches} {
		names, err := fs.Glob(os.DirFS(p.Data), pattern)
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, clearOne(filepath.Join(p.Data, name)))
		}
	}
	return errors.Join(errs...)
}

// clearStreams removes the folders of streams whose clients are gone. That of a client that waits for the next engine
// stays.
func (p Paths) clearStreams() error {
	all := p.streams("")
	entries, err := os.ReadDir(all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, clearOne(p.streams(e.Name())))
	}
	if err := os.Remove(all); err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// mostTries is how often a client makes a folder that an engine that is ending takes away.
const mostTries = 10

// makeStreams makes a folder of streams, which is locked as long as its client lives.
func (p Paths) makeStreams() (*Scratch, error) {
	for try := 1; ; try++ {
		made, err := p.tryStreams()
		if err == nil || try == mostTries || !errors.Is(err, fs.ErrNotExist) {
			return made, err
		}
	}
}

// tryStreams is an attempt. The error is fs.ErrNotExist if the folder was taken away before it was locked.
func (p Paths) tryStreams() (*Scratch, error) {
	if err := p.Prepare(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.streams(""), streamsPrefix)
	if err != nil {
		return nil, fmt.Errorf("make folder of streams: %w", err)
	}

	lock, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("make folder of streams: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fs.ErrNotExist // it is being taken away
	}
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make folder of streams: %w", err), lock.Close())
	}
	return &Scratch{Dir: dir, lock: lock}, nil
}

func clearOne(path string) error {
	lock, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return lock.Close() // its client lives
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	return (&Scratch{Dir: path, lock: lock}).Remove()
}
