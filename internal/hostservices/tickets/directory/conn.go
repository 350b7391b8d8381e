package directory

import (
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
)

// Bounds, in bytes: what is read of a connection at most, and one sealed message.
const (
	mostRead  = 1 << 20
	mostFrame = 1 << 16
)

// sealedConn is a connection that is sealed once it has a session: then each message has its length before it, in four
// bytes (RFC 4422, 3.7).
type sealedConn struct {
	net.Conn

	session atomic.Pointer[session]
	left    int    // what may still be read
	frame   []byte // sealed, and not yet whole
	plain   []byte // unsealed, and not yet read
}

// Read is called by one goroutine, which may wait in it when the session begins: what comes then is sealed.
func (c *sealedConn) Read(b []byte) (int, error) {
	for len(c.plain) == 0 {
		n, err := c.Conn.Read(b)
		if c.left -= n; c.left < 0 {
			return 0, errors.New("the controller's answer is too long")
		}
		s := c.session.Load()
		if s == nil {
			return n, err
		}

		c.frame = append(c.frame, b[:n]...)
		if err := c.unseal(s); err != nil {
			return 0, err
		}
		if err != nil && len(c.plain) == 0 {
			return 0, err
		}
	}

	n := copy(b, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

func (c *sealedConn) unseal(s *session) error {
	for len(c.frame) >= 4 {
		size := binary.BigEndian.Uint32(c.frame)
		if size > mostFrame {
			return errors.New("the controller's answer has a part that is too long")
		}
		end := 4 + int(size)
		if len(c.frame) < end {
			return nil
		}

		plain, err := s.unwrap(c.frame[4:end], true)
		if err != nil {
			return err
		}
		c.plain, c.frame = append(c.plain, plain...), c.frame[end:]
	}

	return nil
}

func (c *sealedConn) Write(b []byte) (int, error) {
	s := c.session.Load()
	if s == nil {
		return c.Conn.Write(b)
	}
	token, err := s.wrap(b, true)
	if err != nil {
		return 0, err
	}
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)
	if _, err := c.Conn.Write(frame); err != nil {
		return 0, err
	}
	return len(b), nil
}
