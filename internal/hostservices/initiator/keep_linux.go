package initiator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

// Times: how long a process has to ask a portal, or to log in and look at the disks; between two attempts to log in
// anew.
const (
	askTimeout   = 40 * time.Second
	attemptPause = time.Second
)

// asked is what a process is told.
type asked struct {
	Login iscsi.Login `json:"login"`
	// Hold is how long I/O blocks while a target does not answer.
	Hold time.Duration `json:"hold"`
}

// status is what a process says of its session, in the file of that name.
type status struct {
	// Connected says that the target answers; Fault says why it does not.
	Connected bool         `json:"connected"`
	Fault     string       `json:"fault,omitempty"`
	Local     string       `json:"local"` // address and port
	TSIH      uint16       `json:"tsih"`
	Units     []iscsi.Unit `json:"units"`
	// Rescan says why the disks could not be looked at anew, where that was asked.
	Rescan string `json:"rescan,omitempty"`
}

// Find asks a portal for its targets. It runs in a process of its own, as a user without rights: it reads its input
// from in, and answers on out.
func Find(ctx context.Context, in io.Reader, out io.Writer) error {
	var a asked
	return keeper.Told(in, out, &a, func() ([]iscsi.Target, error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		targets, err := iscsi.Discover(ctx, a.Login)
		return targets, refused(err)
	})
}

// Keep keeps a session. It runs in a process of its own, as a user without rights: it reads its input from in, logs in,
// and answers on out. Then it waits to read that its file system is mounted, and serves it by descriptor 3 until it is
// unmounted, and logs out, or until the target has not answered for too long.
func Keep(ctx context.Context, in io.Reader, out io.Writer) error {
	k := &kept{lost: make(chan struct{})}
	k.changed.L = &k.mu
	err := keeper.Told(in, out, &k.asked, func() (found struct{}, err error) {
		logging, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		return found, refused(k.login(logging))
	})
	if err != nil {
		return err
	}

	server, err := k.serve()
	if err != nil {
		return err
	}
	unmounted := make(chan struct{})
	go func() {
		server.Wait()
		close(unmounted)
	}()

	go k.watch(ctx)
	select {
	case <-k.lost: // the kernel gives errors when the process has ended
		return fmt.Errorf("the session with %s is lost: %w", k.Login.Target, errors.New(k.status().Fault))
	case <-unmounted:
	}

	if s := k.now(); s != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptPause)
		defer cancel()
		return s.Logout(ctx)
	}

	return nil
}

// kept is a session that a process keeps, whichever connection it has.
type kept struct {
	asked
	lost chan struct{}

	partial sync.Mutex // one write of less than blocks at a time

	mu      sync.Mutex
	changed sync.Cond
	session *iscsi.Session // nil: the target does not answer
	units   []iscsi.Unit
	fault   error
	local   string
	gone    bool
}

// login logs in, and looks at the disks. They have to be those of before.
func (k *kept) login(ctx context.Context) error {
	s, err := iscsi.Dial(ctx, k.Login)
	if err != nil {
		return err
	}

	units, err := s.Units(ctx)
	if err == nil {
		err = k.take(s, units)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// errOthers says that a target has other disks than before.
var errOthers = errors.New("the target has other disks than before under the same numbers")

// take makes this the session from now on. A session that has ended, or that another has followed, is refused: nobody
// would see its end.
func (k *kept) take(s *iscsi.Session, units []iscsi.Unit) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := s.Err(); err != nil {
		return err
	}
	if k.session != nil && k.session != s {
		return errors.New("the session with the target was made anew meanwhile")
	}

	for _, was := range k.units {
		is, found := unitOf(units, was.Number)
		if !found || is.Serial != was.Serial || is.NAA != was.NAA || is.Block != was.Block || is.Size < was.Size {
			return errOthers
		}
	}

	k.session = s
	k.units = units
	k.fault = nil
	k.local = s.LocalAddr().String()
	k.changed.Broadcast()

	return nil
}

func unitOf(units []iscsi.Unit, number uint32) (iscsi.Unit, bool) {
	for _, u := range units {
		if u.Number == number {
			return u, true
		}
	}
	return iscsi.Unit{}, false
}

// watch logs in anew when a session is over, until the target has not answered for too long.
func (k *kept) watch(ctx context.Context) {
	for {
		s := k.now()
		select {
		case <-ctx.Done():
			return
		case <-s.Ended():
		}

		k.mu.Lock()
		k.session, k.fault = nil, s.Err()
		k.mu.Unlock()
		if !k.again(ctx) {
			k.mu.Lock()
			k.gone = true
			k.changed.Broadcast()
			k.mu.Unlock()
			close(k.lost)
			return
		}
	}
}

// again logs in anew. It reports whether it did within the time.
func (k *kept) again(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, k.Hold)
	defer cancel()

	for {
		err := k.login(ctx)
		if err == nil {
			return true
		}

		k.mu.Lock()
		k.fault = err
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-time.After(attemptPause):
		}
	}
}

// now returns the session, nil while the target does not answer.
func (k *kept) now() *iscsi.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.session
}

// wait waits for a session; nil: there will be none.
func (k *kept) wait(not *iscsi.Session) *iscsi.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	for (k.session == nil || k.session == not) && !k.gone {
		k.changed.Wait()
	}
	return k.session
}

// deed reads, writes or asks something of a disk.
type deed func(ctx context.Context, s *iscsi.Session, u iscsi.Unit) error

// do carries out a deed. If the connection ends meanwhile, it tries again on the next one, for as long as I/O may
// block.
func (k *kept) do(ctx context.Context, number uint32, what deed) error {
	ctx = context.WithoutCancel(ctx) // that the kernel no longer asks does not end the connection
	begin := time.Now()
	var s *iscsi.Session
	for {
		if s = k.wait(s); s == nil {
			return errors.New("the target does not answer")
		}
		k.mu.Lock()
		u, there := unitOf(k.units, number)
		k.mu.Unlock()
		if !there {
			return errOthers
		}

		err := what(ctx, s, u)
		if err == nil || s.Err() == nil || time.Since(begin) > k.Hold {
			return err
		}
	}
}

// look looks at the disks anew.
func (k *kept) look(ctx context.Context) error {
	s := k.now()
	if s == nil {
		return errors.New("the target does not answer")
	}
	units, err := s.Units(ctx)
	if err != nil {
		return err
	}
	return k.take(s, units)
}

// status returns what the process says.
func (k *kept) status() status {
	k.mu.Lock()
	defer k.mu.Unlock()
	said := status{
		Connected: k.session != nil,
		Units:     k.units,
		Local:     k.local,
	}

	if k.fault != nil {
		said.Fault = refused(k.fault).Error()
	}
	if k.session != nil {
		said.TSIH = k.session.TSIH
	}

	return said
}

// refused returns the error of who asks, in Windows' words, for why a target cannot be used
// (https://learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers).
func refused(err error) error {
	if err == nil {
		return nil
	}

	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, iscsi.ErrAuthentication):
		return hostcall.Refusef(0, "Authentication Failure: %v", err)
	case errors.Is(err, iscsi.ErrNoTarget):
		return hostcall.Refusef(0, "The target name is not found or is marked as hidden from login.")
	case errors.As(err, &dns) || errors.As(err, &op) || errors.Is(err, context.DeadlineExceeded):
		return hostcall.Refusef(0, "Connection Failed: %v", err)
	}

	return hostcall.Refusef(0, "Login Failed: %v", err)
}
