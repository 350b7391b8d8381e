package initiator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/hostservices/disks"
	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// Limits of a host: each session is a process.
const (
	mostPortals  = 64
	mostSessions = 32
)

// Hold is how long I/O blocks while a target does not answer, as on Windows
// (https://learn.microsoft.com/archive/blogs/san/microsoft-iscsi-software-initiator-and-isns-server-timers-quick-reference:
// MaxRequestHoldTime).
const Hold = time.Minute

// requestTimeout bounds a request.
const requestTimeout = 2 * time.Minute

// Server is the initiator of a host.
type Server struct {
	// Dir is the folder of its state.
	Dir string
	// Folder is where its file systems are mounted, each at the identifier of its session. Nobody else writes there,
	// and the host does not see it.
	Folder string
	// Name is the initiator's.
	Name string
	// Program is a program that calls Keep and Find when its first argument is keeper.Disks or keeper.Targets.
	Program string
	// Netns is the path of the network namespace from which targets are reached; "" is this process's.
	Netns string
	// Hold is how long I/O blocks while a target does not answer.
	Hold time.Duration
	// Disks are the host's, which get those of the sessions.
	Disks *disks.Server
	Log   *slog.Logger

	mu    sync.Mutex // not while a target is waited for
	state state
	tries map[string]attempts // of sessions that are not there, by their identifiers
	busy  map[string]bool     // sessions that are being made
	// pending are sessions whose processes live, and whose disks the host has not been given with their bytes: the
	// target did not answer. tidied says that Forget was called, which has to wait for them.
	pending map[string]bool
	tidied  bool
}

// waiting runs do with s.mu unlocked, so that others are answered meanwhile. do must not use the state; read it again
// afterwards.
func (s *Server) waiting(do func() error) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	return do()
}

// attempts are those to make a session again.
type attempts struct {
	pause time.Duration
	next  time.Time
	fault string
}

// NameOf returns Windows' default initiator name for a host.
func NameOf(host string) string { return "iqn.1991-05.com.microsoft:" + host }

// Service returns the initiator as a service of the host. The disks' service is opened before it.
func (s *Server) Service() service.Service {
	return service.Of[hostiscsi.Request, hostiscsi.Answer]{
		Call:   hostiscsi.Call(),
		Within: requestTimeout,
		Open:   s.takeOver,
		Answer: s.answer,
		Watch:  s.watch,
		Shown: func(r hostiscsi.Request) []any {
			return []any{"do", r.Do, "address", r.Address, "target", r.Target, "session", r.Session}
		},
		Log: s.Log,
	}
}

// takeOver reads the state, and takes over the sessions whose processes live.
func (s *Server) takeOver(ctx context.Context) error {
	if !s.Disks.Ready() {
		return errors.New("the host has no disks, which those of targets are to be among")
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	s.tries = map[string]attempts{}
	s.busy = map[string]bool{}
	s.pending = map[string]bool{}
	var err error
	if err = errors.Join(os.MkdirAll(s.Dir, 0o700), os.MkdirAll(s.Folder, 0o700)); err != nil {
		return err
	}

	if s.state, err = load(s.Dir); err != nil {
		return err
	}

	for _, one := range s.state.Sessions {
		if one.Ended != "" {
			continue
		}

		is, err := s.statusOf(ctx, one, statusFile)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			s.give(ctx, one, is)
		case errors.Is(err, errSilent):
			s.pending[one.ID] = true
		}
	}

	return errors.Join(s.tidy(), s.sweep(), s.save())
}

// tidy has the host forget the disks of sessions that are gone. It waits until all living sessions have theirs: before
// that, nobody knows which volumes are whose.
func (s *Server) tidy() error {
	if s.tidied || len(s.pending) > 0 {
		return nil
	}
	s.tidied = true
	known := func(key string) bool {
		belongs := func(one session) bool { return strings.HasPrefix(key, one.prefix()) }
		return slices.ContainsFunc(s.state.Sessions, belongs)
	}
	return s.Disks.Forget(known)
}

// sweep unmounts what belongs to no session.
func (s *Server) sweep() error {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		current := func(one session) bool { return one.ID == e.Name() && one.Ended == "" }
		if !slices.ContainsFunc(s.state.Sessions, current) {
			err = errors.Join(err, s.unmount(e.Name()))
		}
	}
	return err
}

// answer carries out a request, and describes what there is then.
func (s *Server) answer(ctx context.Context, request hostiscsi.Request) (hostiscsi.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	made, err := s.carryOut(ctx, request)
	if err != nil {
		return hostiscsi.Answer{}, err
	}

	a := hostiscsi.Answer{Initiator: s.Name, Session: made}
	for _, p := range s.state.Portals {
		a.Portals = append(a.Portals, p.show())
	}

	for _, one := range s.state.Sessions {
		if one.Ended == "" {
			a.Sessions = append(a.Sessions, s.show(ctx, one))
		}
	}

	return a, nil
}

func (p portal) show() hostiscsi.Portal {
	shown := hostiscsi.Portal{Address: p.Address, Port: p.Port}
	for _, t := range p.Targets {
		shown.Targets = append(shown.Targets, t.Name)
	}
	return shown
}

// show describes a session.
func (s *Server) show(ctx context.Context, one session) hostiscsi.Session {
	shown := hostiscsi.Session{
		ID:             one.ID + ofSession,
		Connection:     one.ID + ofConnection,
		Target:         one.Target,
		Address:        one.Address,
		Port:           one.Port,
		ISID:           fmt.Sprintf("%x", one.ISID),
		Authentication: one.Authentication,
		Persistent:     one.Persistent,
		Fault:          s.tries[one.ID].fault,
	}

	status, err := s.statusOf(ctx, one, statusFile)
	if err != nil {
		return shown
	}

	shown.Connected = status.Connected
	shown.Fault = plaintext.OneLine(status.Fault)
	shown.TSIH = fmt.Sprintf("%x", status.TSIH)
	if host, port, err := net.SplitHostPort(status.Local); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16)
		shown.LocalAddress, shown.LocalPort = host, uint16(n)
	}
	shown.Disks = s.Disks.Numbers(s.keys(one, status))
	return shown
}

// carryOut carries out a request. It returns the identifier of a new session.
func (s *Server) carryOut(ctx context.Context, r hostiscsi.Request) (string, error) {
	switch r.Do {
	case hostiscsi.Get:
		return "", nil
	case hostiscsi.AddPortal:
		return "", s.addPortal(ctx, r)
	case hostiscsi.UpdatePortal, hostiscsi.RemovePortal:
		i := s.portalIndex(r.Address, r.Port)
		if i < 0 {
			return "", hostcall.Refusef(0, "No MSFT_iSCSITargetPortal objects found for %s.", at(r.Address, r.Port))
		}
		if r.Do == hostiscsi.RemovePortal {
			s.state.Portals = slices.Delete(s.state.Portals, i, i+1)
			return "", s.save()
		}

		return "", s.discover(ctx, s.state.Portals[i])

	case hostiscsi.SetSecret:
		s.state.Secret = r.Secret
		return "", s.save()
	case hostiscsi.Connect:
		return s.connect(ctx, r)
	}

	i := slices.IndexFunc(s.state.Sessions, func(one session) bool {
		return one.Ended == "" && one.ID+ofSession == r.Session
	})
	if i < 0 {
		return "", hostcall.Refusef(0, "The specified session does not exist.")
	}

	switch r.Do {
	case hostiscsi.Register, hostiscsi.Unregister:
		s.state.Sessions[i].Persistent = r.Do == hostiscsi.Register
		return "", s.save()

	case hostiscsi.Rescan:
		is, err := s.statusOf(ctx, s.state.Sessions[i], rescanFile)
		if err == nil && is.Rescan != "" {
			err = hostcall.Refusef(0, "The disks of the target cannot be looked at anew, and stay as they were: %s",
				plaintext.OneLine(is.Rescan))
		}
		if err == nil {
			s.give(ctx, s.state.Sessions[i], is)
		}

		return "", err
	}

	return "", s.disconnect(ctx, i)
}

// chapOf returns how the initiator proves who it is by a request; nil: it does not.
func (s *Server) chapOf(r hostiscsi.Request) (*iscsi.CHAP, error) {
	if r.Authentication == hostiscsi.NoAuthentication {
		return nil, nil // there is none
	}
	chap := &iscsi.CHAP{User: r.User, Secret: r.Secret}
	if chap.User == "" {
		chap.User = s.Name
	}

	if r.Authentication == hostiscsi.MutualCHAP {
		if s.state.Secret == "" {
			return nil, hostcall.Refusef(0,
				"Authentication Failure: mutual CHAP needs a secret of the initiator: Set-IscsiChapSecret")
		}
		chap.Mutual = s.state.Secret
	}

	return chap, nil
}

// addPortal asks a portal for its targets and keeps it.
func (s *Server) addPortal(ctx context.Context, r hostiscsi.Request) error {
	chap, err := s.chapOf(r)
	if err != nil {
		return err
	}
	return s.discover(ctx, portal{
		Address: r.Address,
		Port:    r.Port,
		CHAP:    chap,
	})
}

func (s *Server) portalIndex(address string, port uint16) int {
	return slices.IndexFunc(s.state.Portals, func(p portal) bool { return p.Address == address && p.Port == port })
}

// discover asks a portal for its targets, and keeps it.
func (s *Server) discover(ctx context.Context, p portal) error {
	err := s.waiting(func() (err error) {
		asks := newSession(hostiscsi.Request{Address: p.Address, Port: p.Port})
		asks.CHAP = p.CHAP
		p.Targets, err = s.find(ctx, s.login(asks))
		return err
	})
	if err != nil {
		return err
	}

	switch i := s.portalIndex(p.Address, p.Port); {
	case i >= 0:
		s.state.Portals[i] = p
	case len(s.state.Portals) >= mostPortals:
		return hostcall.Refusef(0, "Not enough resources: the host has %d portals.", mostPortals)
	default:
		s.state.Portals = append(s.state.Portals, p)
	}

	return s.save()
}

// login returns how a session is made.
func (s *Server) login(one session) iscsi.Login {
	return iscsi.Login{
		Portal:    one.portal(),
		Initiator: s.Name,
		Target:    one.Target,
		ISID:      one.ISID,
		CHAP:      one.CHAP,
	}
}

// connect makes a session with a target.
func (s *Server) connect(ctx context.Context, r hostiscsi.Request) (string, error) {
	chap, err := s.chapOf(r)
	if err != nil {
		return "", err
	}
	if r.Address == "" {
		if r.Address, r.Port, err = s.portalOf(r.Target); err != nil {
			return "", err
		}
	}

	one := newSession(r)
	one.CHAP = chap
	same := func(other session) bool { return other.Ended == "" && other.prefix() == one.prefix() }
	if slices.ContainsFunc(s.state.Sessions, same) {
		return "", hostcall.Refusef(0, "The target has already been logged in via an iSCSI session.")
	}
	if len(s.state.Sessions) >= mostSessions {
		return "", hostcall.Refusef(0, "Not enough resources: the host has %d sessions.", mostSessions)
	}

	// The session is recorded before it exists, so that nothing of it is left when this process is killed.
	s.state.Sessions = append(s.state.Sessions, one)
	is, err := s.make(ctx, one)
	if err != nil {
		s.state.Sessions = slices.DeleteFunc(s.state.Sessions, func(other session) bool { return other.ID == one.ID })
		return "", errors.Join(err, s.unmount(one.ID), s.save())
	}
	s.Log.Info("iSCSI session", "id", one.ID, "target", one.Target, "portal", one.portal(), "disks", len(is.Units))
	return one.ID + ofSession, nil
}

// make makes a session that is known, and gives its disks to the host.
func (s *Server) make(ctx context.Context, one session) (is status, err error) {
	if err := s.save(); err != nil {
		return is, err
	}
	s.busy[one.ID] = true
	err = s.waiting(func() (err error) {
		is, err = s.start(ctx, one)
		return err
	})

	delete(s.busy, one.ID)
	switch {
	case err != nil:
		return is, err
	case s.place(one) == len(s.state.Sessions):
		return is, errors.Join(errors.New("the session was logged out meanwhile"), s.unmount(one.ID))
	}

	s.give(ctx, one, is)

	// It takes the place of a persistent one that was logged out.
	s.state.Sessions = slices.DeleteFunc(s.state.Sessions, func(other session) bool {
		return other.Ended != "" && other.prefix() == one.prefix()
	})
	if err := s.save(); err != nil { // the session is there
		s.Log.Error("iSCSI session", "id", one.ID, "error", err)
	}

	return is, nil
}

// portalOf returns the portal where a target was found.
func (s *Server) portalOf(target string) (string, uint16, error) {
	for _, p := range s.state.Portals {
		if slices.ContainsFunc(p.Targets, func(t iscsi.Target) bool { return t.Name == target }) {
			return p.Address, p.Port, nil
		}
	}
	return "", 0, hostcall.Refusef(0, "The target name is not found or is marked as hidden from login.")
}

// disconnect ends a session. A disk that somebody uses keeps it.
func (s *Server) disconnect(ctx context.Context, i int) error {
	one := s.state.Sessions[i]
	is, err := s.statusOf(ctx, one, statusFile)
	switch {
	case err != nil || !is.Connected: // nothing can be written to them any more: nobody waits for it
		if err := errors.Join(s.abort(one.ID), s.Disks.Lose(one.prefix())); err != nil {
			return err
		}

	default:
		if err := s.Disks.Release(ctx, s.keys(one, is)); err != nil {
			if errors.Is(err, disks.ErrInUse) {
				err = hostcall.Refusef(0,
					"The session cannot be logged out since a device on that session is currently being used.")
			}
			return err
		}
	}

	if s.state.Sessions[i].Ended = boot(); !one.Persistent {
		s.state.Sessions = slices.Delete(s.state.Sessions, i, i+1)
	}
	delete(s.tries, one.ID)
	delete(s.pending, one.ID)
	s.Log.Info("iSCSI session ends", "id", one.ID, "target", one.Target)
	return errors.Join(s.save(), s.unmount(one.ID), s.tidy())
}
