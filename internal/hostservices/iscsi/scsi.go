package iscsi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SCSI's codes of operations (SPC-4, SBC-3), and of statuses.
const (
	testUnitReady    = 0x00
	inquiry          = 0x12
	modeSense6       = 0x1a
	synchronizeCache = 0x35
	unmap            = 0x42
	read16           = 0x88
	write16          = 0x8a
	serviceActionIn  = 0x9e
	reportLUNs       = 0xa0

	readCapacity16 = 0x10 // a service action

	good           = 0x00
	checkCondition = 0x02
	busy           = 0x08
	taskSetFull    = 0x28

	notReady       = 0x2
	illegalRequest = 0x5
	unitAttention  = 0x6
)

// StatusError is an answer of SCSI other than GOOD.
type StatusError struct {
	Status byte
	// Key, Code and Qualifier are those of the sense data (SPC-4, 4.5).
	Key, Code, Qualifier byte
}

func (e *StatusError) Error() string {
	if e.Status == 0x18 {
		return "the disk is reserved by another initiator"
	}
	return fmt.Sprintf("SCSI status %#02x, sense %x/%02x/%02x", e.Status, e.Key, e.Code, e.Qualifier)
}

// patience is how often a command is given again that the target could not take, and after which time.
const (
	patience   = 10
	shortPause = 100 * time.Millisecond
)

// command carries out a command for a logical unit. It reads into in, or writes out, and returns how much it has read.
func (s *Session) command(ctx context.Context, lun uint64, cdb, out, in []byte) (int, error) {
	for tries := 1; ; tries++ {
		n, err := s.once(ctx, lun, cdb, out, in)
		refused, is := errors.AsType[*StatusError](err)
		again := is && (refused.Status == busy || refused.Status == taskSetFull ||
			refused.Key == unitAttention || (refused.Key == notReady && refused.Code == 0x04))
		if !again || tries == patience {
			return n, err
		}

		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(shortPause):
		}
	}
}

func (s *Session) once(ctx context.Context, lun uint64, cdb, out, in []byte) (int, error) {
	const reads, writes, simple = 0x40, 0x20, 1
	p := &pdu{}
	p.header[0], p.header[1] = opCommand, final|simple
	putLUN(p, lun)
	if in != nil {
		p.header[1] |= reads
		p.set(20, uint32(len(in))) // at most mostBurst
	}

	if out != nil {
		p.header[1] |= writes
		p.set(20, uint32(len(out))) // at most mostBurst
		p.data = out[:min(len(out), int(s.first), int(s.mostSent))]
	}

	copy(p.header[32:], cdb)
	t, err := s.do(ctx, p, &task{
		lun: lun,
		out: out,
		in:  in,
	})
	if err != nil {
		return 0, err
	}

	if t.status == good {
		return t.read, nil
	}

	e := &StatusError{Status: t.status}
	if len(t.sense) >= 14 && t.sense[0]&0x7e == 0x70 { // fixed format
		e.Key = t.sense[2] & 0xf
		e.Code = t.sense[12]
		e.Qualifier = t.sense[13]
	} else if len(t.sense) >= 4 && t.sense[0]&0x7e == 0x72 {
		e.Key = t.sense[1] & 0xf
		e.Code = t.sense[2]
		e.Qualifier = t.sense[3]
	}

	return 0, e
}

func putLUN(p *pdu, lun uint64) { binary.BigEndian.PutUint64(p.header[8:], lun) }

// Unit is a logical unit that is a disk.
type Unit struct {
	// LUN is its number as SCSI writes it, in eight bytes; Number is what people call it.
	LUN    uint64 `json:"lun"`
	Number uint32 `json:"number"`
	// Size is in bytes, Block that of a block.
	Size  int64 `json:"size"`
	Block int64 `json:"block"`
	// Vendor, Product and Serial are texts of the target, of printable letters of ASCII alone.
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Serial  string `json:"serial"`
	// NAA is the identifier of page 83 that has 8 bytes, in hexadecimal; "": it has none.
	NAA string `json:"naa,omitempty"`
	// ReadOnly says that nothing can be written, Thin that UNMAP is known.
	ReadOnly bool `json:"readOnly,omitempty"`
	Thin     bool `json:"thin,omitempty"`
}

// MostUnits bounds the disks of a target.
const MostUnits = 32

// Units returns the target's disks, in the order of their numbers.
func (s *Session) Units(ctx context.Context) ([]Unit, error) {
	const most = 8 + 8*256
	list := make([]byte, most)
	cdb := make([]byte, 12)
	cdb[0] = reportLUNs
	binary.BigEndian.PutUint32(cdb[6:], most)
	n, err := s.command(ctx, 0, cdb, nil, list)
	if err != nil {
		return nil, fmt.Errorf("list the target's disks: %w", err)
	}

	if n < 8 {
		return nil, broken("a list of disks of %d bytes", n)
	}

	list = list[8:min(n, 8+int(binary.BigEndian.Uint32(list)))]
	var all []Unit
	for ; len(list) >= 8; list = list[8:] {
		u, disk, err := s.unit(ctx, binary.BigEndian.Uint64(list))
		if _, refuses := errors.AsType[*StatusError](err); refuses {
			continue // others can be used
		}
		if err != nil {
			return nil, fmt.Errorf("look at a disk of the target: %w", err)
		}

		if disk && len(all) < MostUnits {
			all = append(all, u)
		}
	}

	slices.SortFunc(all, func(a, b Unit) int { return int(a.Number) - int(b.Number) })
	return all, nil
}

// unit looks at a logical unit; disk is false if it is none that can be used as one.
func (s *Session) unit(ctx context.Context, lun uint64) (u Unit, disk bool, err error) {
	// peripheral or flat addressing (SAM-5, 4.7.7)
	if method := lun >> 62; method > 1 || lun&0xffffffffffff != 0 {
		return u, false, nil
	}
	u = Unit{LUN: lun, Number: uint32(lun >> 48 & 0x3fff)} // 14 bits
	page, err := s.inquire(ctx, lun, -1)
	if err != nil || len(page) < 36 || page[0] != 0 {
		return u, false, err
	}

	u.Vendor, u.Product = plainText(page[8:16]), plainText(page[16:32])
	if err := s.capacity(ctx, &u); err != nil {
		return u, false, err
	}
	if page, err := s.inquire(ctx, lun, 0x80); err == nil && len(page) > 4 {
		u.Serial = plainText(page[4:])
	}

	if page, err := s.inquire(ctx, lun, 0x83); err == nil && len(page) > 4 {
		u.NAA = naaOf(page[4:])
	}
	u.ReadOnly, err = s.protected(ctx, lun)
	return u, true, err
}

// inquire reads what a unit says of itself, or a page of it.
func (s *Session) inquire(ctx context.Context, lun uint64, page int) ([]byte, error) {
	in := make([]byte, 255)
	cdb := []byte{inquiry, 0, 0, 0, 255, 0}
	if page >= 0 {
		cdb[1], cdb[2] = 1, byte(page) // a page's number
	}
	n, err := s.command(ctx, lun, cdb, nil, in)
	if err == nil && page >= 0 && n >= 4 {
		n = min(n, 4+int(in[2])<<8+int(in[3]))
	}
	return in[:n], err
}

// capacity reads a unit's size.
func (s *Session) capacity(ctx context.Context, u *Unit) error {
	in := make([]byte, 32)
	cdb := make([]byte, 16)
	cdb[0] = serviceActionIn
	cdb[1] = readCapacity16
	cdb[13] = 32
	n, err := s.command(ctx, u.LUN, cdb, nil, in)
	if err != nil {
		return err
	}

	last := binary.BigEndian.Uint64(in)
	u.Block = int64(binary.BigEndian.Uint32(in[8:]))
	const mostBlock, mostSize = 4096, 1 << 50
	// Positive.
	if n < 12 || u.Block < 512 || u.Block > mostBlock || u.Block&(u.Block-1) != 0 || last >= uint64(mostSize/u.Block) {
		return broken("a disk of %d blocks of %d bytes", last, u.Block)
	}
	u.Size = (int64(last) + 1) * u.Block // below mostSize
	u.Thin = n >= 15 && in[14]&0x80 != 0

	return nil
}

// protected reports whether a unit cannot be written to.
func (s *Session) protected(ctx context.Context, lun uint64) (bool, error) {
	in := make([]byte, 4)
	n, err := s.command(ctx, lun, []byte{modeSense6, 8, 0x3f, 0, 4, 0}, nil, in)
	if refused, is := errors.AsType[*StatusError](err); is && refused.Key == illegalRequest {
		return false, nil
	}
	return n >= 3 && in[2]&0x80 != 0, err
}

// plainText returns a text of a target: its printable letters of ASCII.
func plainText(b []byte) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(b)))
}

// naaOf finds the NAA of 8 bytes of the unit itself among identifiers (SPC-4, 7.8.6).
func naaOf(list []byte) string {
	const binaryCode, naa, naaLength = 1, 3, 8
	for len(list) >= 4 {
		n := int(list[3])
		if len(list) < 4+n {
			return ""
		}
		if list[0]&0xf == binaryCode && list[1]&0x3f == naa && n == naaLength {
			return hex.EncodeToString(list[4 : 4+n])
		}
		list = list[4+n:]
	}
	return ""
}

// ErrPlace says that something is read or written that is not of whole blocks of the disk.
var ErrPlace = errors.New("not whole blocks of the disk")

// ReadAt and WriteAt read and write at most MostBytes of whole blocks.
func (s *Session) ReadAt(ctx context.Context, u Unit, to []byte, offset int64) error {
	cdb, err := transfer(read16, u, len(to), offset)
	if err != nil {
		return err
	}
	n, err := s.command(ctx, u.LUN, cdb, nil, to)
	if err == nil && n != len(to) {
		err = broken("it reads %d bytes for %d", n, len(to))
	}
	return err
}

// MostBytes is what a command reads or writes at most.
const MostBytes = mostBurst

// WriteAt writes.
func (s *Session) WriteAt(ctx context.Context, u Unit, from []byte, offset int64) error {
	cdb, err := transfer(write16, u, len(from), offset)
	if err == nil {
		_, err = s.command(ctx, u.LUN, cdb, from, nil)
	}
	return err
}

func transfer(op byte, u Unit, n int, offset int64) ([]byte, error) {
	size := int64(n)
	if offset < 0 || size == 0 || size > MostBytes || offset%u.Block != 0 || size%u.Block != 0 || offset+size > u.Size {
		return nil, ErrPlace
	}
	cdb := make([]byte, 16)
	cdb[0] = op
	binary.BigEndian.PutUint64(cdb[2:], uint64(offset/u.Block))
	binary.BigEndian.PutUint32(cdb[10:], uint32(size/u.Block)) // at most MostBytes
	return cdb, nil
}

// Flush has the target write its cache, if it has one.
func (s *Session) Flush(ctx context.Context, u Unit) error {
	_, err := s.command(ctx, u.LUN, []byte{synchronizeCache, 0, 0, 0, 0, 0, 0, 0, 0, 0}, nil, nil)
	if refused, is := errors.AsType[*StatusError](err); is && refused.Key == illegalRequest {
		return nil
	}
	return err
}

// Discard tells the target that what is in whole blocks is no longer needed.
func (s *Session) Discard(ctx context.Context, u Unit, offset, size int64) error {
	const mostDiscarded = 1 << 30
	for size > 0 {
		n := min(size, mostDiscarded)
		if offset < 0 || offset%u.Block != 0 || n%u.Block != 0 || offset+n > u.Size {
			return ErrPlace
		}

		list := make([]byte, 24)
		list[1], list[3] = 22, 16
		binary.BigEndian.PutUint64(list[8:], uint64(offset/u.Block))
		binary.BigEndian.PutUint32(list[16:], uint32(n/u.Block)) // at most mostDiscarded
		cdb := []byte{unmap, 0, 0, 0, 0, 0, 0, 0, byte(len(list)), 0}
		if _, err := s.command(ctx, u.LUN, cdb, list, nil); err != nil {
			return err
		}
		offset, size = offset+n, size-n
	}

	return nil
}

// Ready asks whether a unit can be used.
func (s *Session) Ready(ctx context.Context, u Unit) error {
	_, err := s.command(ctx, u.LUN, []byte{testUnitReady, 0, 0, 0, 0, 0}, nil, nil)
	return err
}
