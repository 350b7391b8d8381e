package containerinit

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// resident is a launcher that stays in the container and starts one program after the other, because the start of a
// Windows process costs more than most programs that are asked for (guest/c/run/serve.c has what both say). It is
// there from the first program that it can start, and ends when it has had nothing to do for a while.
//
//	idle ── hand ──▶ asked ── 't' ──▶ running ── 'e' ──▶ idle
//	                   └─── 'n', its end: the program is started as others are
//
// It is a program of the container as all others are: they can end it, stop it or speak in its place. So its word makes
// what was asked of it fail, and nothing else, and what it does not take is started otherwise. It runs one program at a
// time; a second one is started otherwise, too.
type resident struct {
	pid int
	// socket is this process's end, gone once it is closed: its number may be that of another connection then.
	socket int
	dir    string
	// env is its environment, without the variable that names the program.
	env []string
	// job is what it has been asked for; nil: it is idle.
	job *job
	// status is how it has ended; nil: that has not been seen yet.
	status *syscall.WaitStatus
	// heard says that all of its words have been read.
	heard bool
	// idle ends it.
	idle *time.Timer
}

// job is a program that was asked for.
type job struct {
	conn    int
	request wire.Request
	files   []uintptr
	taken   bool
	// slow ends a launcher that does not take it.
	slow *time.Timer
}

const (
	// idleTime is how long a launcher that has nothing to do stays.
	idleTime = 5 * time.Minute
	// takeTime is how long a launcher may take to begin, and freshTime one that is being started, on a busy machine.
	takeTime  = 5 * time.Second
	freshTime = time.Minute
	// marker begins the variable that names the program of an exec, and idSize is how long its value is (guest/c/run).
	marker = "MULLION_EXEC="
	idSize = 16
	// serveFD is the descriptor that a launcher is told of.
	serveFD = "3"
	// mostUntaken is how many launchers one after the other may end without having taken a program; no other is started
	// then.
	mostUntaken = 3
	// taken is what a launcher says when it has taken a program.
	taken = "t"
	// gone is no descriptor.
	gone = -1
)

// split returns the id of the exec in an environment, and the rest of it.
func split(env []string) (id string, rest []string) {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, marker); ok {
			id = value
			continue
		}
		rest = append(rest, e)
	}
	return id, rest
}

// launched returns what a launcher is told of a request, nil if that is not its program, and the beginning of the
// command line that starts a launcher.
func (s *starter) launched(r wire.Request) (packet []byte, launcher []string) {
	n := len(s.launch)
	id, _ := split(r.Env)
	if n == 0 || len(id) != idSize || len(r.Args) <= n || !slices.Equal(r.Args[:n], s.launch) {
		return nil, nil
	}

	packet = append([]byte(id), 0)
	for _, arg := range r.Args[n:] {
		if !utf8.ValidString(arg) {
			return nil, nil
		}
		packet = append(append(packet, arg...), 0)
	}
	if len(packet) > wire.MostRequest {
		return nil, nil
	}

	return packet, r.Args[:n]
}

// hand gives a program to the resident launcher, which is started if there is none, and reports whether it did: its
// files are the launcher's then. The caller has locked s.
func (s *starter) hand(conn int, r wire.Request, files []uintptr) bool {
	packet, launcher := s.launched(r)
	if packet == nil || (s.resident != nil && s.resident.job != nil) {
		return false
	}

	patience := takeTime
	if s.resident == nil {
		if s.untaken >= mostUntaken || !s.makeResident(launcher, r) {
			return false
		}
		patience = freshTime
	}

	l := s.resident
	_, env := split(r.Env)
	if r.Dir != l.dir || !slices.Equal(env, l.env) || !l.send(packet, files) {
		return false
	}

	l.idle.Stop()
	j := &job{
		conn:    conn,
		request: r,
		files:   files,
	}
	j.slow = time.AfterFunc(patience, func() { s.end(l, func() bool { return l.job == j && !j.taken }) })
	l.job = j
	return true
}

// send sends a packet with files. It does not wait for a reader.
func (l *resident) send(packet []byte, files []uintptr) bool {
	var descriptors []int
	for _, f := range files {
		descriptors = append(descriptors, int(f))
	}
	return syscall.Sendmsg(l.socket, packet, syscall.UnixRights(descriptors...), nil,
		syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT) == nil
}

// makeResident starts a launcher.
func (s *starter) makeResident(launcher []string, r wire.Request) bool {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(null) }()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(ends[1]) }() // the launcher has its own

	own := r
	own.Args = slices.Concat(launcher, []string{"--serve", serveFD})
	pid, err := fork(own, []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(ends[1])})
	if err != nil {
		_ = syscall.Close(ends[0])
		return false
	}

	_, env := split(r.Env)
	l := &resident{
		pid:    pid,
		socket: ends[0],
		dir:    r.Dir,
		env:    env,
	}
	l.idle = time.AfterFunc(idleTime, func() { s.end(l, func() bool { return l.job == nil }) })
	s.resident = l
	go s.listenTo(l)
	return true
}

// end ends a launcher, if it is the resident one and wanted says so. Whoever reaps it does the rest.
func (s *starter) end(l *resident, wanted func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resident == l && wanted() {
		_ = syscall.Kill(l.pid, syscall.SIGKILL)
	}
}

// listenTo hears what a launcher says. One that says no more, or what nobody expects, is ended.
func (s *starter) listenTo(l *resident) {
	socket := l.socket // it is closed here alone
	buffer := make([]byte, wire.ReplySize+1)
	for {
		n, err := syscall.Read(socket, buffer)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 || !s.hear(l, buffer[:n]) {
			break
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resident == l {
		_ = syscall.Kill(l.pid, syscall.SIGKILL)
	}
	l.socket = gone
	_ = syscall.Close(socket)
	l.heard = true
	s.settle(l)
}

// hear takes one word of a launcher, and reports whether it is to be heard further.
func (s *starter) hear(l *resident, packet []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := l.job
	if j == nil {
		return false
	}

	r, err := wire.DecodeReply(packet)
	switch {
	case string(packet) == taken && !j.taken:
		j.take()
		s.untaken = 0
		send(j.conn, wire.Reply{Verb: wire.Started, Value: uint32(l.pid)}.Encode())
		return true
	case err == nil && r.Verb == wire.Ended && j.taken:
		l.job = nil
		if s.resident == l {
			l.idle.Reset(idleTime)
		}
		// Whoever has given up the program is about to kill what has its id, which this launcher had until now.
		return tell(j.conn, r.Value&0xff)
	default:
		return false
	}
}

// take notes that a program is its launcher's, or somebody else's, from now on.
func (j *job) take() {
	j.taken = true
	j.slow.Stop()
	closeAll(j.files)
}

// residentEnded notes how the resident launcher has ended. The caller has locked s.
func (s *starter) residentEnded(status syscall.WaitStatus) {
	l := s.resident
	s.resident = nil
	l.status = &status
	l.idle.Stop()
	// A copy of the other end may be anywhere. What was said before is still read.
	_ = syscall.Shutdown(l.socket, syscall.SHUT_RDWR)
	s.settle(l)
}

// settle looks after what a launcher has left that has ended, once all is heard that it said: the last word may be that
// it has taken a program, which is not started once more then. The caller has locked s.
func (s *starter) settle(l *resident) {
	if l.status == nil || !l.heard {
		return
	}

	j := l.job
	switch {
	case j == nil:
	case j.taken:
		tell(j.conn, uint32(exitCode(*l.status)))
	default:
		s.untaken++
		if err := s.startOther(j.conn, j.request, j.files); err != nil {
			refuse(j.conn, err)
		}
		j.take()
	}
}
