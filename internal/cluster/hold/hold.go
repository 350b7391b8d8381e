// Package hold owns the lock that a command takes before it changes a cluster, so that of two commands one comes after
// the other: each finds the cluster as the other has left it, and never half of it. Commands that only read do not take
// it, and what the supervisor does by itself, it does without.
//
// The lock is a file beside the cluster's run folder, not in it, since that folder goes when the cluster is taken down.
// Who holds it has the kernel's lock on the file (flock(2)), which ends with the process, also by kill -9. The file
// says who that is. Who lets go of a cluster that has no run folder removes it.
//
//	up:    Take ── find or make the folder, start the supervisor ── HandOver (it has the data folder's own lock) ── wait
//	down:  Take ── stop, remove all ── Release
package hold

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Patience is how long Take waits for another command, unless its context ends before. It is longer than any
	// command holds a cluster, on a busy machine too.
	Patience = 5 * time.Minute
	// interval is the time between two looks while another command holds the lock.
	interval = 50 * time.Millisecond
)

// Holder is a command that holds a cluster.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another command"
	}
	return fmt.Sprintf("`%s` (process %d, since %s)", h.Command, h.PID, h.Since.Format(time.TimeOnly))
}

// BusyError says that another command has not let go of a cluster in time.
type BusyError struct {
	Holder Holder
	Waited time.Duration
	// Err is why Take did not wait longer.
	Err error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("wait for %s, which is changing the cluster: %v after %s", e.Holder, e.Err,
		e.Waited.Round(time.Second))
}

// Unwrap gives the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// errPatience is the cause of a BusyError that is not the context's.
var errPatience = errors.New("it has not ended")

// Caller is who takes the lock.
type Caller struct {
	// Command is how a person knows it: "mullion up".
	Command string
	// Waiting is told once for whom Take waits.
	Waiting func(Holder)
}

type callerKey struct{}

// As returns a context whose Take is the caller's.
func As(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, callerKey{}, c) }

// Held is a cluster that this process holds. What it calls with Take's context holds the cluster with it.
type Held struct {
	run    string
	caller Caller
	mu     sync.Mutex
	users  int
	file   *os.File // nil while nobody here holds it
	waited bool
}

type heldKey struct{ run string }

// Take holds the cluster with that run folder, and returns the context for what is done with it. It waits while another
// process holds it; a *BusyError says that it waited in vain. If ctx is of a Take that goes on, it returns the same
// Held, which is released by the outermost.
func Take(ctx context.Context, run string) (context.Context, *Held, error) {
	h, ok := ctx.Value(heldKey{run}).(*Held)
	if !ok {
		h = &Held{run: run}
		h.caller, _ = ctx.Value(callerKey{}).(Caller)
		ctx = context.WithValue(ctx, heldKey{run}, h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.file == nil {
		if err := h.lock(ctx); err != nil {
			return ctx, nil, fmt.Errorf("hold the cluster: %w", err)
		}
	}
	h.users++
	return ctx, h, nil
}

// Inherit takes over from the process that started this one the hold of the cluster with that run folder, which it
// handed over as descriptor fd.
func Inherit(run string, fd uintptr) *Held {
	unix.CloseOnExec(int(fd))
	return &Held{
		run:   run,
		file:  os.NewFile(fd, lockOf(run)),
		users: 1,
	}
}

// lockOf returns the lock's file of the cluster with that run folder.
func lockOf(run string) string { return run + ".lock" }

// Release ends the hold, if this is the outermost Take's.
func (h *Held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users == 0 {
		h.unlock()
	}
}

// HandOver ends the hold at once, since another process has what it stood for. A later Take holds it anew.
func (h *Held) HandOver() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unlock()
}

// Waited reports whether another command held the cluster when it was taken: then what was known of it may have
// changed.
func (h *Held) Waited() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waited
}

// File returns the locked file, for a child to inherit: the lock lasts until it is closed in both processes.
func (h *Held) File() *os.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.file
}

func (h *Held) unlock() {
	if h.file == nil {
		return
	}
	if _, err := os.Lstat(h.run); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(lockOf(h.run)) // one that is left does no harm
		_ = os.Remove(filepath.Dir(h.run))
	}
	_ = h.file.Close() // which ends the lock, unless a child has it too
	h.file = nil
}

func (h *Held) lock(ctx context.Context) error {
	begun, told := time.Now(), false
	end := time.NewTimer(Patience)
	defer end.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()

	for {
		file, err := tryLock(lockOf(h.run))
		if err != nil {
			return err
		}
		if file != nil {
			h.file = file
			return h.sign()
		}

		h.waited = true
		who := holderOf(lockOf(h.run))
		if !told && who.PID != 0 && h.caller.Waiting != nil {
			h.caller.Waiting(who)
			told = true
		}

		select {
		case <-ctx.Done():
			return &BusyError{
				Holder: who,
				Waited: time.Since(begun),
				Err:    ctx.Err(),
			}

		case <-end.C:
			return &BusyError{
				Holder: who,
				Waited: time.Since(begun),
				Err:    errPatience,
			}
		case <-tick.C:
		}
	}
}

// tryLock makes and locks the file. It returns nil if another process has it, or is about to make it anew.
func tryLock(path string) (*os.File, error) {
	err := makeFolder(filepath.Dir(path))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // the folder went while it was looked at
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the last cluster's folder went just now
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && isAt(file, path) {
		return file, nil
	}
	closeErr := file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) { // removed by who had it, or held
		return nil, closeErr
	}

	return nil, fmt.Errorf("lock %q: %w", path, err)
}

// makeFolder makes the folder of all clusters' run folders, through which servers without rights reach theirs: whatever
// the umask of the person who types the command.
func makeFolder(dir string) error {
	const mode = 0o711
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// isAt reports whether the file is still the one of that name.
func isAt(file *os.File, path string) bool {
	own, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(own, there)
}

// sign writes into the file who holds it.
func (h *Held) sign() error {
	command := cmp.Or(h.caller.Command, "a program of Mullion's")
	text, err := json.Marshal(Holder{
		PID:     os.Getpid(),
		Command: command,
		Since:   time.Now(),
	})
	if err != nil {
		return err
	}

	if err := h.file.Truncate(0); err != nil {
		return fmt.Errorf("sign %q: %w", lockOf(h.run), err)
	}
	// A disk that is full must not keep anybody from taking the cluster down: then the name is missing.
	_, _ = h.file.WriteAt(text, 0)
	return nil
}

// holderOf reads who holds the lock at path; the zero Holder if that cannot be read, or is not written yet.
func holderOf(path string) (h Holder) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}
