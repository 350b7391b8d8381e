// Package wire is what the engine of single containers and mullion-nat say to each other: JSON in the messages of a
// pair of sockets (SOCK_SEQPACKET), each with at most one open file. The engine asks, and gets one answer to each
// request. Both are of one build, so there are no versions.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Request is what the engine asks: one of its fields.
type Request struct {
	Begin   *Begin   `json:",omitempty"`
	Attach  *Attach  `json:",omitempty"`
	Publish *Publish `json:",omitempty"`
	Rename  *Rename  `json:",omitempty"`
	// Detach is the id of a container that is gone.
	Detach string `json:",omitempty"`
}

// Begin is the first request.
type Begin struct {
	// Subnet is the containers', with the gateway's address.
	Subnet netip.Prefix
	// Clusters begins the aliases of the machine's interfaces that lead to clusters, which containers do not reach.
	Clusters string
}

// Attach connects a container. Its file is the TAP device that is its interface.
type Attach struct {
	ID   string
	Addr netip.Addr
	// MAC is the hardware address of the container's end of the interface; MTU is that of the interface.
	MAC string
	MTU int
	// Names are the ones by which other containers, and it itself, find it.
	Names []string
}

// Rename gives a container other names.
type Rename struct {
	ID    string
	Names []string
}

// Publish leads a port of the machine to a container. Its file is the socket: one that listens for TCP, or that is
// bound for UDP.
type Publish struct {
	ID       string
	Protocol Protocol
	// Port is the container's.
	Port uint16
}

// Protocol is a protocol of ports.
type Protocol string

// The protocols of ports.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Answer is the answer to a request.
type Answer struct {
	// Error is why it was not carried out; "": it was.
	Error string `json:",omitempty"`
}

// Memory is how many bytes mullion-nat may have, beside what waits in its sockets.
const Memory = 512 << 20

// largest bounds a message, in bytes.
const largest = 64 << 10

// ErrTooLong is the error of a message that is too long, of which nothing is sent.
var ErrTooLong = errors.New("a message is too long")

// Conn is an end of the pair.
type Conn struct{ unix *net.UnixConn }

// Pair makes both ends: a connection, and the file of the other end, for a child.
func Pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	other := os.NewFile(uintptr(fds[1]), "nat")
	own := os.NewFile(uintptr(fds[0]), "nat")
	defer own.Close()
	conn, err := Open(own)
	if err != nil {
		return nil, nil, errors.Join(err, other.Close())
	}
	return conn, other, nil
}

// Open makes a connection of the file of an end, which the caller closes.
func Open(file *os.File) (*Conn, error) {
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("use the pair of sockets: %w", err)
	}
	seqpacket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("use the pair of sockets: it is none"), conn.Close())
	}
	return &Conn{seqpacket}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.unix.Close() }

// SetDeadline bounds what is sent and received from now on.
func (c *Conn) SetDeadline(t time.Time) error { return c.unix.SetDeadline(t) }

// Send sends a message, with a file unless that is nil.
func (c *Conn) Send(message any, file syscall.Conn) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > largest {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrTooLong, len(text), largest)
	}

	if file == nil {
		_, _, err = c.unix.WriteMsgUnix(text, nil, nil)
		return err
	}

	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	controlled := raw.Control(func(fd uintptr) {
		_, _, err = c.unix.WriteMsgUnix(text, unix.UnixRights(int(fd)), nil)
	})
	return errors.Join(controlled, err)
}

// Receive receives a message, and its file, which is nil if it has none. The error is io.EOF when the other end is
// closed.
func (c *Conn) Receive(message any) (*os.File, error) {
	text, control := make([]byte, largest), make([]byte, unix.CmsgSpace(4))
	n, controls, flags, _, err := c.unix.ReadMsgUnix(text, control)
	if err != nil {
		return nil, err
	}
	file, err := fileOf(control[:controls])
	if err != nil {
		return nil, err
	}

	if n == 0 && file == nil {
		return nil, io.EOF
	}

	err = json.Unmarshal(text[:n], message)
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = ErrTooLong
	}
	if err != nil && file != nil {
		err = errors.Join(err, file.Close())
	}

	return file, err
}

// fileOf returns the file that came with a message.
func fileOf(control []byte) (*os.File, error) {
	if len(control) == 0 {
		return nil, nil //nolint:nilnil // most messages have none
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}

	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err == nil && len(fds) == 1 {
			unix.CloseOnExec(fds[0])
			return os.NewFile(uintptr(fds[0]), "received"), nil
		}
	}

	return nil, errors.New("a message has something that is no file")
}
