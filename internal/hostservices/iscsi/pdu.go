package iscsi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Operation codes (RFC 7143, 11.2.1.2): those of the initiator, and those of the target.
const (
	opNopOut   = 0x00
	opCommand  = 0x01
	opLogin    = 0x03
	opText     = 0x04
	opDataOut  = 0x05
	opLogout   = 0x06
	opNopIn    = 0x20
	opResponse = 0x21
	opLoggedIn = 0x23
	opTexts    = 0x24
	opDataIn   = 0x25
	opLogged   = 0x26
	opR2T      = 0x31
	opAsync    = 0x32
	opReject   = 0x3f

	immediate = 0x40
	final     = 0x80
)

// none is the tag of what belongs to no task.
const none = 0xffffffff

const headerSize = 48

// Limits in bytes: of the data of one message that a target may send, which it is told; of an additional header.
const (
	mostReceived = 256 << 10
	mostExtra    = 255 * 4
)

// errProtocol says that the target does what no target may do.
var errProtocol = errors.New("the target breaks the protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// pdu is a message: its header without the lengths, and its data.
type pdu struct {
	header [headerSize]byte
	data   []byte
}

func (p *pdu) op() byte             { return p.header[0] & 0x3f }
func (p *pdu) is(flag byte) bool    { return p.header[1]&flag != 0 }
func (p *pdu) u32(at int) uint32    { return binary.BigEndian.Uint32(p.header[at:]) }
func (p *pdu) set(at int, v uint32) { binary.BigEndian.PutUint32(p.header[at:], v) }

// tag returns the initiator's tag of the task that the message belongs to.
func (p *pdu) tag() uint32 { return p.u32(16) }

// write writes the message, with its data padded to four bytes.
func (p *pdu) write(w io.Writer) error {
	n := len(p.data)
	p.header[4] = 0
	p.header[5] = byte(n >> 16)
	p.header[6] = byte(n >> 8)
	p.header[7] = byte(n)
	whole := make([]byte, headerSize, headerSize+n+3)
	copy(whole, p.header[:])
	whole = append(whole, p.data...)
	for len(whole)%4 != 0 {
		whole = append(whole, 0)
	}
	_, err := w.Write(whole)
	return err
}

// read reads a message. Its data is in room where that is large enough.
func read(r io.Reader, room []byte) (*pdu, error) {
	p := &pdu{}
	if _, err := io.ReadFull(r, p.header[:]); err != nil {
		return nil, err
	}
	n := int(p.header[5])<<16 | int(p.header[6])<<8 | int(p.header[7])
	if n > mostReceived {
		return nil, broken("a message has %d bytes of data", n)
	}

	if extra := int(p.header[4]) * 4; extra > 0 {
		var skipped [mostExtra]byte
		if _, err := io.ReadFull(r, skipped[:extra]); err != nil {
			return nil, err
		}
	}

	padded := (n + 3) / 4 * 4
	if padded > len(room) {
		room = make([]byte, padded)
	}
	if _, err := io.ReadFull(r, room[:padded]); err != nil {
		return nil, err
	}
	p.data = room[:n]
	return p, nil
}
