package smb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	smb2 "github.com/cloudsoda/go-smb2"

	"mullion.dev/mullion/internal/windows/wire/credspec"
)

// Target is a share, and as whom it is used.
type Target struct {
	Server    string `json:"server"`
	Share     string `json:"share"`
	User      string `json:"user"`
	Password  string `json:"password"`
	Privacy   bool   `json:"privacy"`
	Integrity bool   `json:"integrity"`
	// Port is 445 unless a test says another.
	Port string `json:"port,omitempty"`
}

// Times: how long a server has to answer a connection, and one request; how long a server that did not answer is left
// alone, so that who waits is not held up again and again.
const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
	pause          = 2 * time.Second
)

// ErrNotEncrypted says that privacy was demanded and the server does not encrypt.
var ErrNotEncrypted = errors.New("the server does not encrypt the connection, which the mapping demands")

// way is how a connection is made: how its server is reached, and who logs on.
type way struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	logon func(ctx context.Context) (smb2.Initiator, error)
}

// byPassword returns the way of a mapping.
func (t Target) byPassword() way {
	return way{
		dial: (&net.Dialer{KeepAlive: dialTimeout}).DialContext,
		logon: func(context.Context) (smb2.Initiator, error) {
			domain, user := splitUser(t.User)
			return &smb2.NTLMInitiator{
				User:     user,
				Password: t.Password,
				Domain:   domain,
			}, nil
		},
	}
}

// share is a share whose connection is made anew when it is lost.
type share struct {
	target Target
	way    way
	known  known
	files  openFiles

	mu     sync.Mutex
	conn   io.Closer
	tree   *smb2.Share
	number int // of the connection
	failed time.Time
	last   error
}

// connection returns the connection to the share, and its number. It connects if need be.
func (s *share) connection(ctx context.Context) (*smb2.Share, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree != nil {
		return s.tree, s.number, nil
	}
	if time.Since(s.failed) < pause {
		return nil, 0, s.last
	}

	conn, tree, err := s.target.dial(ctx, s.way)
	if err != nil {
		if ctx.Err() == nil { // who asked for it waits for the answer
			s.failed, s.last = time.Now(), err
		}
		return nil, 0, err
	}
	s.conn, s.tree = conn, tree
	s.number++

	return tree, s.number, nil
}

// current returns the number of the connection.
func (s *share) current() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number
}

// neverConnected reports whether the share has not been connected, and nobody is about to.
func (s *share) neverConnected() bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.number == 0
}

// isThere reports whether the server has the share: it has been connected, or it was refused.
func (s *share) isThere() bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.number > 0 || (s.last != nil && errnoOf(s.last) == syscall.EACCES)
}

// lost forgets a connection that does not work. What still waits for an answer by it gets an error.
func (s *share) lost(number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree == nil || s.number != number {
		return
	}
	_ = s.conn.Close()
	s.conn, s.tree = nil, nil
}

// dial connects and logs on.
func (t Target) dial(ctx context.Context, w way) (_ io.Closer, _ *smb2.Share, err error) {
	defer func() {
		if panicked := recover(); panicked != nil { // of the library, by what the server has sent
			err = &smb2.InternalError{Message: fmt.Sprintf("the server's answer is not understood: %.200v", panicked)}
		}
	}()

	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	port := t.Port
	if port == "" {
		port = "445"
	}

	tcp, err := w.dial(ctx, "tcp", net.JoinHostPort(t.Server, port))
	if err != nil {
		return nil, nil, &smb2.TransportError{Err: err}
	}
	looked := &lookedAt{Conn: tcp}
	initiator, err := w.logon(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, tcp.Close())
	}

	d := smb2.Dialer{
		Negotiator: smb2.Negotiator{RequireMessageSigning: t.Integrity},
		Initiator:  initiator,
	}

	// The session has only the time that is left, and an answer that never comes ends with it.
	stop := context.AfterFunc(ctx, func() { _ = tcp.Close() })
	defer stop()
	conn, err := d.DialConn(ctx, looked, t.Server)
	if err != nil {
		return nil, nil, errors.Join(err, tcp.Close())
	}

	if t.Privacy {
		if err := encrypt(conn); err != nil {
			return nil, nil, errors.Join(err, tcp.Close())
		}
	}

	tree, err := conn.WithContext(ctx).Mount(`\\` + t.Server + `\` + t.Share)
	if err == nil {
		_, err = tree.WithContext(ctx).Stat(".")
	}
	if err == nil && t.Privacy && !looked.encrypted.Load() {
		err = ErrNotEncrypted
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		return nil, nil, errors.Join(err, tcp.Close())
	}

	return tcp, tree, nil
}

// splitUser returns the domain and the name of `DOMAIN\name`; a name@domain is left to the server.
func splitUser(user string) (domain, name string) {
	if domain, name, ok := strings.Cut(user, `\`); ok {
		return domain, name
	}
	return "", user
}

// do carries out a request, a second time by a new connection if the first has been lost.
func (s *share) do(ctx context.Context, request func(tree *smb2.Share) error) syscall.Errno {
	for try := 0; ; try++ {
		tree, number, err := s.connection(ctx)
		if err == nil {
			err = s.answered(number, func() error { return request(tree) })
		}
		if err == nil {
			return 0
		}

		if !isLost(err) {
			return errnoOf(err)
		}

		s.lost(number)
		if try > 0 || ctx.Err() != nil {
			return syscall.EIO
		}
	}
}

// answered carries out a request by a connection, which ends if the server does not answer in time.
func (s *share) answered(number int, request func() error) error {
	timer := time.AfterFunc(requestTimeout, func() { s.lost(number) })
	defer timer.Stop()
	return request()
}

// isLost reports whether an error is one of the connection: the server has not refused anything.
func isLost(err error) bool {
	if response, ok := errors.AsType[*smb2.ResponseError](err); ok {
		switch response.Code {
		case statusSessionDeleted, statusSessionExpired, statusNetworkNameDeleted, statusFileClosed:
			return true
		}
		return false
	}
	if errors.Is(err, credspec.ErrRefused) || errors.Is(err, credspec.ErrUnreachable) {
		return false
	}

	return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrExist) && !errors.Is(err, os.ErrPermission) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, os.ErrInvalid)
}

// Codes of NTSTATUS
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref/596a1078-e883-4972-9bbc-49e60bebca55).
const (
	statusNoSuchFile         = 0xC000000F
	statusSharingViolation   = 0xC0000043
	statusDeletePending      = 0xC0000056
	statusDiskFull           = 0xC000007F
	statusFileIsADirectory   = 0xC00000BA
	statusNetworkNameDeleted = 0xC00000C9
	statusBadNetworkName     = 0xC00000CC
	statusDirectoryNotEmpty  = 0xC0000101
	statusNotADirectory      = 0xC0000103
	statusNameTooLong        = 0xC0000106
	statusCannotDelete       = 0xC0000121
	statusFileClosed         = 0xC0000128
	statusSessionDeleted     = 0xC0000203
	statusSessionExpired     = 0xC000035C
	statusQuotaExceeded      = 0xC0000044
	statusMediaProtected     = 0xC00000A2
	statusLogonFailure       = 0xC000006D
	statusNameInvalid        = 0xC0000033
)

// errnoOf returns what Linux says in place of the server.
func errnoOf(err error) syscall.Errno {
	if response, ok := errors.AsType[*smb2.ResponseError](err); ok {
		errno, known := map[uint32]syscall.Errno{
			statusNoSuchFile:        syscall.ENOENT,
			statusSharingViolation:  syscall.ETXTBSY, // Wine says STATUS_SHARING_VIOLATION again
			statusDeletePending:     syscall.ENOENT,
			statusDiskFull:          syscall.ENOSPC,
			statusQuotaExceeded:     syscall.EDQUOT,
			statusMediaProtected:    syscall.EROFS,
			statusFileIsADirectory:  syscall.EISDIR,
			statusNotADirectory:     syscall.ENOTDIR,
			statusDirectoryNotEmpty: syscall.ENOTEMPTY,
			statusNameTooLong:       syscall.ENAMETOOLONG,
			statusNameInvalid:       syscall.EINVAL,
			statusCannotDelete:      syscall.EACCES,
			statusLogonFailure:      syscall.EACCES,
		}[response.Code]
		if known {
			return errno
		}
	}

	switch {
	case errors.Is(err, credspec.ErrRefused), errors.Is(err, credspec.ErrUnreachable):
		return syscall.EACCES
	case errors.Is(err, os.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, os.ErrExist):
		return syscall.EEXIST
	case errors.Is(err, os.ErrPermission):
		return syscall.EACCES
	case errors.Is(err, os.ErrInvalid):
		return syscall.EINVAL
	}

	return syscall.EIO
}

// lookedAt is a connection that notices whether the last message from the server was encrypted. A message is a length
// of four bytes, and what begins with 0xFD "SMB" if it is encrypted
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/d6ce2327-a4c9-4793-be66-7b5bad2175fa).
type lookedAt struct {
	net.Conn

	encrypted atomic.Bool
	head      []byte // of the message that is being read: its length, and its first byte
	left      int    // bytes of it that are still to come
}

func (c *lookedAt) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		if c.left > 0 {
			skipped := min(c.left, len(rest))
			rest, c.left = rest[skipped:], c.left-skipped
			continue
		}

		c.head, rest = append(c.head, rest[0]), rest[1:]
		if len(c.head) < 5 {
			continue
		}
		c.encrypted.Store(c.head[4] == 0xFD)
		c.left = int(binary.BigEndian.Uint32(c.head)&0xFFFFFF) - 1
		c.head = c.head[:0]
	}

	return n, err
}

// errorf adds the operation to an error.
func (t Target) errorf(err error) error {
	return fmt.Errorf(`connect to \\%s\%s: %w`, t.Server, t.Share, err)
}
