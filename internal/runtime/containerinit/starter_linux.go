package containerinit

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// starter starts programs in the container for the engine, which would otherwise have a process enter the container's
// namespaces for each of them. They have what this process has: its user, cgroup, namespaces, limits and filter of
// system calls, no capabilities; and of its descriptors nothing but those that came with the request.
//
// A program of the container is not served: it can start programs itself, and those of this process would have other
// limits.
type starter struct {
	listening int
	// launch is the beginning of the command line of programs that a resident launcher may start; nil: there are none.
	launch []string

	mu sync.Mutex
	// waiting are the connections to which the ends of programs are told, by process id.
	waiting map[int]int
	// resident is the launcher that stays; nil: there is none.
	resident *resident
	// untaken counts launchers that have ended without having taken a program, since one has taken one.
	untaken int
}

// patience is how long a connection may take to say what it wants.
const patience = 5 // seconds

// waitingConnections is the listen backlog: as many may ask at once.
const waitingConnections = 64

// newStarter listens at a path. What is there is removed.
func newStarter(path string) (*starter, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	_ = syscall.Unlink(path) // it is seldom there; if it cannot be removed, Bind says so
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}

	if err := syscall.Listen(fd, waitingConnections); err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return &starter{listening: fd, waiting: map[int]int{}}, nil
}

// serve answers for as long as the process lives.
func (s *starter) serve() {
	buffer := make([]byte, wire.MostRequest+1)
	for {
		conn, _, err := syscall.Accept4(s.listening, syscall.SOCK_CLOEXEC)
		switch err {
		case nil:
			s.answer(conn, buffer)
		case syscall.EINTR, syscall.ECONNABORTED:
		default:
			return // the engine starts its programs otherwise
		}
	}
}

// answer carries out what one connection asks for.
func (s *starter) answer(conn int, buffer []byte) {
	if !fromOutside(conn) || !send(conn, []byte(wire.Hello)) {
		_ = syscall.Close(conn)
		return
	}
	limit := syscall.Timeval{Sec: patience}
	_ = syscall.SetsockoptTimeval(conn, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit) // a Unix socket has it

	request, files, err := receive(conn, buffer)
	kept := false
	if err == nil {
		kept, err = s.start(conn, request, files)
	}
	if !kept {
		closeAll(files) // the program has its own
	}
	if err != nil {
		refuse(conn, err)
	}
}

// start starts a program, and tells its end to the connection. kept: the files are for somebody else to close.
func (s *starter) start(conn int, r wire.Request, files []uintptr) (kept bool, err error) {
	if len(files) != 3 || r.UID != os.Getuid() {
		return false, syscall.EPERM
	}
	s.mu.Lock() // whoever reaps the program finds it among those that are waited for
	defer s.mu.Unlock()
	if s.hand(conn, r, files) {
		return true, nil
	}
	return false, s.startOther(conn, r, files)
}

// startOther starts a program as a process of its own. The caller has locked s.
func (s *starter) startOther(conn int, r wire.Request, files []uintptr) error {
	pid, err := fork(r, files)
	if err != nil {
		return err
	}
	s.waiting[pid] = conn
	send(conn, wire.Reply{Verb: wire.Started, Value: uint32(pid)}.Encode())
	return nil
}

// fork starts a process.
func fork(r wire.Request, files []uintptr) (int, error) {
	return syscall.ForkExec(r.Args[0], r.Args, &syscall.ProcAttr{
		Dir:   r.Dir,
		Env:   r.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

func closeAll(files []uintptr) {
	for _, file := range files {
		_ = syscall.Close(int(file))
	}
}

// refuse says that nothing was started.
func refuse(conn int, err error) {
	number, _ := errors.AsType[syscall.Errno](err)
	send(conn, wire.Reply{Verb: wire.Refused, Value: uint32(number)}.Encode())
	_ = syscall.Close(conn)
}

// tell says how a program has ended, and reports whether anybody hears it.
func tell(conn int, code uint32) bool {
	told := send(conn, wire.Reply{Verb: wire.Ended, Value: code}.Encode())
	_ = syscall.Close(conn)
	return told
}

// ended tells who waits for it how a program has ended. The caller has locked s.
func (s *starter) ended(pid int, status syscall.WaitStatus) {
	if s.resident != nil && s.resident.pid == pid {
		s.residentEnded(status)
		return
	}
	conn, known := s.waiting[pid]
	if !known {
		return
	}
	delete(s.waiting, pid)
	tell(conn, uint32(exitCode(status)))
}

// fromOutside reports whether a connection's other end is no process of the container: those of other PID namespaces
// have no number here (https://man7.org/linux/man-pages/man7/pid_namespaces.7.html).
func fromOutside(conn int) bool {
	peer, err := syscall.GetsockoptUcred(conn, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	return err == nil && peer.Pid == 0
}

// receive reads a request and the files that came with it, which the caller closes.
func receive(conn int, buffer []byte) (wire.Request, []uintptr, error) {
	control := make([]byte, syscall.CmsgSpace(3*4)) // what does not fit is closed by the kernel
	n, used, flags, _, err := syscall.Recvmsg(conn, buffer, control, syscall.MSG_CMSG_CLOEXEC)
	// It is interrupted by the end of a child; the kernel goes on by itself only where there is no time limit.
	for errors.Is(err, syscall.EINTR) {
		n, used, flags, _, err = syscall.Recvmsg(conn, buffer, control, syscall.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return wire.Request{}, nil, err
	}

	var files []uintptr
	messages, err := syscall.ParseSocketControlMessage(control[:used])
	for _, message := range messages {
		rights, _ := syscall.ParseUnixRights(&message) // of another message there are none
		for _, file := range rights {
			files = append(files, uintptr(file))
		}
	}

	if err != nil || flags&(syscall.MSG_CTRUNC|syscall.MSG_TRUNC) != 0 {
		return wire.Request{}, files, wire.ErrRequest
	}
	request, err := wire.Decode(buffer[:n])
	return request, files, err
}

// send writes a packet, and reports whether it could. It does not wait for a reader.
func send(conn int, packet []byte) bool {
	return syscall.Sendmsg(conn, packet, nil, nil, syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT) == nil
}
