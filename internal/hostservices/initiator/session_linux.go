package initiator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/hostservices/disks"
	"mullion.dev/mullion/internal/hostservices/iscsi"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/windows/wire/hostiscsi"
)

// Times: how long a process has to say what its session is; between two looks whether the sessions are there; the
// shortest and the longest between two attempts to make one that is not.
const (
	lookTimeout  = 2 * time.Second
	scanTimeout  = 30 * time.Second
	watchPause   = 3 * time.Second
	leastAttempt = 3 * time.Second
	mostAttempt  = 30 * time.Second
)

// mostStatus bounds what a process says, in bytes.
const mostStatus = 128 << 10

// find has a process ask a portal for its targets.
func (s *Server) find(ctx context.Context, login iscsi.Login) ([]iscsi.Target, error) {
	found, err := keeper.Ask[[]iscsi.Target](ctx, keeper.Process{
		Program: s.Program, Command: keeper.Targets, Name: login.Portal, Netns: s.Netns,
	}, askTimeout+lookTimeout, asked{Login: login})
	if err != nil {
		return nil, err
	}

	// Who has asked has read what anybody may have written.
	return slices.DeleteFunc(found[:min(len(found), iscsi.MostTargets)], func(t iscsi.Target) bool {
		name, err := hostiscsi.CleanTarget(t.Name)
		return err != nil || name != t.Name
	}), nil
}

func (s *Server) mount(id string) string { return filepath.Join(s.Folder, id) }

// start starts the process that keeps a session, and mounts what it serves.
func (s *Server) start(ctx context.Context, one session) (status, error) {
	if err := s.unmount(one.ID); err != nil { // what a process that is dead has left
		return status{}, err
	}
	if err := os.Mkdir(s.mount(one.ID), 0o700); err != nil {
		return status{}, err
	}

	err := keeper.Process{
		Program: s.Program,
		Command: keeper.Disks,
		Name:    s.mount(one.ID),
		Netns:   s.Netns,
		Disk:    true,
	}.Keep(ctx, askTimeout+lookTimeout, asked{Login: s.login(one), Hold: s.Hold}, func(device *os.File) error {
		return s.mountSession(one, device)
	})
	if err != nil {
		return status{}, err
	}

	return s.statusOf(ctx, one, statusFile)
}

func (s *Server) mountSession(one session, device *os.File) error {
	folder, err := os.OpenFile(s.mount(one.ID), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := keeper.MountFilesOver(folder, device, one.Target, kind); err != nil {
		return fmt.Errorf("mount the disks of %s: %w", one.Target, err)
	}
	return nil
}

// abort gives who waits for a session's disks errors, and takes the file system away.
func (s *Server) abort(id string) error { return detach(s.mount(id), unix.MNT_FORCE) }

func detach(mount string, flags int) error {
	err := unix.Unmount(mount, unix.MNT_DETACH|flags)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount the disks of %q: %w", mount, err)
	}
	return nil
}

// unmount takes the file system of a session away, and so ends its process.
func (s *Server) unmount(id string) error {
	if err := detach(s.mount(id), 0); err != nil {
		return err
	}
	if err := os.Remove(s.mount(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// statusOf asks a session's process for its status; by rescan, after it has looked at the disks anew. An error says
// that there is no process, or that it does not answer.
func (s *Server) statusOf(ctx context.Context, one session, file string) (status, error) {
	type result struct {
		is  status
		err error
	}
	patience := lookTimeout
	if file == rescanFile {
		patience = scanTimeout
	}

	done := make(chan result, 1)
	go func() {
		var r result
		var data []byte
		if data, r.err = readStatus(filepath.Join(s.mount(one.ID), file)); r.err == nil {
			r.err = json.Unmarshal(data, &r.is)
		}
		done <- r
	}()

	timer := time.NewTimer(patience)
	defer timer.Stop()

	select {
	case r := <-done:
		return r.is, r.err
	case <-timer.C:
		return status{}, errSilent
	case <-ctx.Done():
		return status{}, ctx.Err()
	}
}

// errSilent says that the process of a session lives, but does not answer.
var errSilent = errors.New("what keeps the session does not answer")

// readStatus reads a status file without waiting, and follows no link: the process that serves it may be hostile.
func readStatus(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%q is not a file", path), err)
	}
	data := make([]byte, mostStatus)
	n, err := f.Read(data)
	return data[:n], err
}

// keys name the disks of a session for the host's disks.
func (s *Server) keys(one session, is status) []string {
	var all []string
	for _, u := range is.Units {
		all = append(all, keyOf(one, u))
	}
	return all
}

func keyOf(one session, u iscsi.Unit) string {
	return fmt.Sprintf("%s%d", one.prefix(), u.Number)
}

// prefix returns how the keys of a session's disks begin.
func (s session) prefix() string { return fmt.Sprintf("iscsi %s %s ", s.Target, s.portal()) }

// give gives the disks of a session to the host. If the target does not answer, the session is pending.
func (s *Server) give(ctx context.Context, one session, is status) {
	var silent atomic.Bool
	var all []disks.Remote
	for _, u := range is.Units[:min(len(is.Units), iscsi.MostUnits)] {
		all = append(all, disks.Remote{
			Key:      keyOf(one, u),
			File:     filepath.Join(s.mount(one.ID), diskName(u.Number)),
			Name:     strings.TrimSpace(plaintext.OneLine(u.Vendor) + " " + plaintext.OneLine(u.Product)),
			Serial:   plaintext.OneLine(u.Serial),
			ID:       identifier(one, u),
			Bus:      "iSCSI",
			Location: fmt.Sprintf("iSCSI : Bus 0 : Device 0 : Function 0 : Adapter 2 : Port 0 : Target %d : LUN %d", s.place(one), u.Number),
			Session:  one.ID + ofSession,
			ReadOnly: u.ReadOnly,
			Fault: func(ctx context.Context) string {
				now, err := s.statusOf(ctx, one, statusFile)
				if err == nil && now.Connected {
					return ""
				}
				silent.Store(true)
				return "The target " + one.Target + " does not answer: " + plaintext.OneLine(now.Fault)
			},
		})
	}

	if err := s.Disks.Attach(ctx, all); err != nil {
		s.Log.Error("disks of the target", "target", one.Target, "error", err)
	}
	if delete(s.pending, one.ID); silent.Load() {
		s.pending[one.ID] = true
	}
}

// place returns the number of a session among the host's.
func (s *Server) place(one session) int {
	for i, other := range s.state.Sessions {
		if other.ID == one.ID {
			return i
		}
	}
	return len(s.state.Sessions)
}

// identifier returns a disk's name for SCSI, of 8 bytes: its own, or one that is made of what tells it from others, of
// the type of those that are assigned locally.
func identifier(one session, u iscsi.Unit) string {
	if own, err := hex.DecodeString(u.NAA); err == nil && len(own) == 8 {
		return hex.EncodeToString(own)
	}
	sum := sha256.Sum256([]byte(keyOf(one, u) + " " + u.Serial))
	sum[0] = sum[0]&0x0f | 0x30
	return hex.EncodeToString(sum[:8])
}

// watch makes sessions again that are not there, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(watchPause)
	defer tick.Stop()

	for {
		s.mu.Lock()
		all := append([]session(nil), s.state.Sessions...)
		s.mu.Unlock()
		for _, one := range all {
			if one.Ended == "" {
				s.revive(ctx, one)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// revive makes a session again whose process is dead, and gives its disks to the host when the target answers.
func (s *Server) revive(ctx context.Context, one session) {
	is, err := s.statusOf(ctx, one, statusFile)
	if (err == nil && !is.Connected) || errors.Is(err, errSilent) || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.place(one) == len(s.state.Sessions) || s.busy[one.ID] { // it was logged out, or is being made
		return
	}

	if err == nil && !s.pending[one.ID] {
		return
	}
	defer func() {
		if err := s.tidy(); err != nil {
			s.Log.Error("take away what belongs to no session", "error", err)
		}
	}()

	if err == nil {
		s.give(ctx, one, is)
		return
	}

	delete(s.pending, one.ID)
	tried, again := s.tries[one.ID]
	if !again {
		s.Log.Warn("iSCSI session is lost", "id", one.ID, "target", one.Target)
		if err := s.Disks.Lose(one.prefix()); err != nil {
			s.Log.Error("take the disks of a lost session away", "id", one.ID, "error", err)
		}
	}

	if time.Now().Before(tried.next) {
		return
	}

	if _, err := s.make(ctx, one); err != nil {
		tried.pause = min(max(leastAttempt, 2*tried.pause), mostAttempt)
		tried.next, tried.fault = time.Now().Add(tried.pause), err.Error()
		s.tries[one.ID] = tried
		s.Log.Warn("make the iSCSI session again", "id", one.ID, "target", one.Target, "error", err)
		return
	}
	delete(s.tries, one.ID)
	s.Log.Info("iSCSI session is there again", "id", one.ID, "target", one.Target)
}
