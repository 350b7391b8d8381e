package iscsi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// mostBurst is how much data a target may ask for, or send, at once, in bytes.
const mostBurst = 1 << 20

// Times: how long a command has; how long a connection is quiet before the target is asked whether it is there, and
// how long it has to answer; how long a message may take to be sent.
const (
	commandTimeout = time.Minute
	quiet          = 5 * time.Second
	sendTimeout    = 10 * time.Second
)

// Session is a session with a target. Commands may be given from many goroutines.
type Session struct {
	// TSIH is the target's name of the session.
	TSIH uint16

	conn   net.Conn
	reader *bufio.Reader
	// What was agreed, in bytes: what one message may have; what the target asks for at once; what goes with a command.
	mostSent, burst, first uint32

	order sync.Mutex // commands go out in the order of their numbers
	write sync.Mutex // one message at a time

	mu        sync.Mutex
	room      sync.Cond // the target takes another command, or the session is over
	cmdSN     uint32    // of the next command
	maxCmdSN  uint32    // the last that the target takes
	expStatSN uint32    // of the next response
	tag       uint32    // of the last task
	tasks     map[uint32]*task
	heard     time.Time
	answering bool  // the target's question whether this side is there
	over      error // why the session is over
	ended     chan struct{}
}

// task is a command, a text or a logout that waits for its answer.
type task struct {
	lun  uint64
	out  []byte // what is written
	in   []byte // room for what is read
	read int    // how much of it is there
	r2t  bool   // the target has asked for data that is being sent
	done chan struct{}
	// the answer
	status   byte // of SCSI
	sense    []byte
	data     []byte // of an answer that is no SCSI response
	answered *pdu
	err      error
}

func newSession(conn net.Conn) *Session {
	s := &Session{
		conn:   conn,
		reader: bufio.NewReaderSize(conn, 64<<10),
		cmdSN:  1,
		tasks:  map[uint32]*task{},
		ended:  make(chan struct{}),
		heard:  time.Now(),
	}
	s.room.L = &s.mu
	return s
}

// Dial logs in to a target.
func Dial(ctx context.Context, l Login) (*Session, error) {
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	go s.hear()
	go s.ask()
	return s, nil
}

// LocalAddr returns this side's address and port.
func (s *Session) LocalAddr() net.Addr { return s.conn.LocalAddr() }

// Ended is closed when the session is over; Err says why.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Err says why the session is over, nil before that.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// end ends the session and all its tasks.
func (s *Session) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return
	}

	s.over = why
	close(s.ended)
	_ = s.conn.Close()
	for tag, t := range s.tasks {
		t.err = why
		close(t.done)
		delete(s.tasks, tag)
	}

	s.room.Broadcast()
}

// errClosed says that this side has ended the session.
var errClosed = errors.New("the session is closed")

// Close ends the session without a word to the target.
func (s *Session) Close() { s.end(errClosed) }

// Logout tells the target that the session ends, and ends it.
func (s *Session) Logout(ctx context.Context) error {
	defer s.Close()
	p := &pdu{}
	p.header[0], p.header[1] = opLogout|immediate, final
	t, err := s.do(ctx, p, &task{})
	if err == nil && (t.answered.op() != opLogged || t.answered.header[2] != 0) {
		err = broken("the answer to a logout is %#x, %d", t.answered.op(), t.answered.header[2])
	}
	return err
}

// do sends a message that begins a task, and waits for its answer. If that does not come in time, the session is over.
func (s *Session) do(ctx context.Context, p *pdu, t *task) (*task, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	late := context.AfterFunc(ctx, func() { s.end(fmt.Errorf("wait for the target: %w", context.Cause(ctx))) })
	defer late()
	t.done = make(chan struct{})
	if err := s.begin(p, t); err != nil {
		return nil, err
	}
	<-t.done
	return t, t.err
}

// begin gives a task its numbers when the target takes it, and sends its message.
func (s *Session) begin(p *pdu, t *task) error {
	s.order.Lock()
	defer s.order.Unlock()
	s.mu.Lock()
	for s.over == nil && p.header[0]&immediate == 0 && int32(s.maxCmdSN-s.cmdSN) < 0 { // serial numbers (RFC 1982)
		s.room.Wait()
	}

	if s.over != nil {
		defer s.mu.Unlock()
		return s.over
	}

	p.set(16, s.nextTag())
	s.tasks[s.tag] = t
	p.set(24, s.cmdSN)
	p.set(28, s.expStatSN)
	if p.header[0]&immediate == 0 {
		s.cmdSN++
	}
	s.mu.Unlock()
	return s.put(p)
}

// nextTag returns a tag that no task has.
func (s *Session) nextTag() uint32 {
	for s.tag++; s.tag == none || s.tasks[s.tag] != nil; s.tag++ {
		continue
	}
	return s.tag
}

// put writes a message. What goes wrong ends the session.
func (s *Session) put(p *pdu) error {
	s.write.Lock()
	defer s.write.Unlock()
	err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	if err == nil {
		err = p.write(s.conn)
	}
	if err != nil {
		s.end(fmt.Errorf("send to the target: %w", err))
	}
	return err
}

// send sends a message that begins no task.
func (s *Session) send(p *pdu) error {
	s.mu.Lock()
	p.set(28, s.expStatSN)
	if p.op() == opNopOut {
		p.set(24, s.cmdSN)
	}
	s.mu.Unlock()
	return s.put(p)
}

// ask asks a target that is quiet whether it is there.
func (s *Session) ask() {
	tick := time.NewTicker(quiet)
	defer tick.Stop()

	for {
		select {
		case <-s.ended:
			return
		case <-tick.C:
		}

		s.mu.Lock()
		quietFor := time.Since(s.heard)
		s.mu.Unlock()
		switch {
		case quietFor > silence:
			s.end(fmt.Errorf("the target has said nothing for %s", silence))
		case quietFor >= quiet:
			p := &pdu{}
			p.header[0], p.header[1] = opNopOut|immediate, final
			p.set(20, none)
			s.mu.Lock()
			p.set(16, s.nextTag())
			s.mu.Unlock()
			_ = s.send(p) // ends the session itself
		}
	}
}

// hear reads what the target says until the session is over.
func (s *Session) hear() {
	room := make([]byte, mostReceived)
	for {
		p, err := read(s.reader, room)
		if err == nil {
			err = s.heed(p)
		}
		if err != nil {
			s.end(fmt.Errorf("hear the target: %w", err))
			return
		}
	}
}

// heed does what a message asks for, or hands it to its task.
func (s *Session) heed(p *pdu) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.heard = time.Now()
	s.count(p)
	t := s.tasks[p.tag()]
	switch op := p.op(); {
	case op == opNopIn:
		s.answer(p)
		return nil

	case op == opAsync:
		return s.event(p.header[36])
	case op == opReject:
		return broken("it rejects a message for reason %#x", p.header[2])
	case t == nil:
		return broken("a message %#x of no task", op)
	case op == opDataIn:
		return s.dataIn(t, p)
	case op == opR2T:
		return s.demand(t, p)
	case op == opResponse:
		return s.response(t, p)
	case op == opTexts || op == opLogged:
		t.answered, t.data = p, append([]byte(nil), p.data...)
		s.finish(t, p.tag())
		return nil
	}

	return broken("a message of kind %#x", p.op())
}

// answer answers the target's question whether this side is there, but not the next before it has answered the last.
func (s *Session) answer(p *pdu) {
	if p.u32(20) == none || s.answering { // the answer to our question
		return
	}

	s.answering = true
	reply := &pdu{}
	reply.header[0], reply.header[1] = opNopOut|immediate, final
	copy(reply.header[8:16], p.header[8:16])
	reply.set(16, none)
	reply.set(20, p.u32(20))
	go func() {
		_ = s.send(reply)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answering = false
	}()
}

// count takes the numbers of a message (RFC 7143, 4.2.2).
func (s *Session) count(p *pdu) {
	const hasStatus = 1
	if op := p.op(); op != opR2T && (op != opDataIn || p.is(hasStatus)) && (op != opNopIn || p.tag() != none) {
		s.expStatSN = p.u32(24) + 1
	}
	if most := p.u32(32); int32(most-s.maxCmdSN) > 0 { // serial numbers
		s.maxCmdSN = most
		s.room.Broadcast()
	}
}

func (s *Session) finish(t *task, tag uint32) {
	delete(s.tasks, tag)
	close(t.done)
}

// event is one that the target tells of (RFC 7143, 11.9.1): all but those of SCSI end the session.
func (s *Session) event(code byte) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("the target ends the session by event %d", code)
}

// dataIn takes data that was read.
func (s *Session) dataIn(t *task, p *pdu) error {
	offset := int64(p.u32(40))
	if offset != int64(t.read) || offset+int64(len(p.data)) > int64(len(t.in)) {
		return broken("it sends %d bytes at %d of a command for %d", len(p.data), offset, len(t.in))
	}
	t.read += copy(t.in[offset:], p.data)
	const hasStatus = 1
	if p.is(hasStatus) {
		t.status = p.header[3]
		s.finish(t, p.tag())
	}
	return nil
}

// response is the end of a command.
func (s *Session) response(t *task, p *pdu) error {
	t.status = p.header[3]
	if p.header[2] != 0 {
		t.err = fmt.Errorf("the target does not carry out the command: %#x", p.header[2])
	}
	if len(p.data) >= 2 {
		n := int(p.data[0])<<8 | int(p.data[1])
		t.sense = append([]byte(nil), p.data[2:2+min(n, len(p.data)-2)]...)
	}
	s.finish(t, p.tag())
	return nil
}

// demand sends what the target asks for of a task's data.
func (s *Session) demand(t *task, p *pdu) error {
	offset, n := int64(p.u32(40)), int64(p.u32(44))
	if t.r2t || n == 0 || n > mostBurst || offset+n > int64(len(t.out)) {
		return broken("it asks for %d bytes at %d of %d", n, offset, len(t.out))
	}

	t.r2t = true
	tag, transfer := p.tag(), p.u32(20)
	go func() { // who reads does not wait for who writes
		for number := uint32(0); n > 0; number++ {
			size := min(n, int64(s.mostSent))
			part := &pdu{data: t.out[offset : offset+size]}
			part.header[0] = opDataOut
			offset, n = offset+size, n-size
			if n == 0 {
				part.header[1] = final
				s.mu.Lock()
				t.r2t = false
				s.mu.Unlock()
			}

			putLUN(part, t.lun)
			part.set(16, tag)
			part.set(20, transfer)
			part.set(36, number)
			part.set(40, uint32(offset-size)) // within the data
			if s.send(part) != nil {
				return
			}
		}
	}()

	return nil
}
