package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/fifo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/flow"
)

// The standard streams by their numbers.
const (
	Stdin = iota
	Stdout
	Stderr
	streamCount
)

// carried are the streams of a program that go to another one by connections, as through pipes: an output waits for who
// reads it, and nobody logs it. The connections come later, each once, from a process that may end. Those of outputs
// may come when the program has ended.
type carried struct {
	streams [streamCount]*carriage // nil: there is none
	cancel  context.CancelFunc
}

// carriage is one of the streams.
type carriage struct {
	fifo io.ReadWriteCloser
	conn chan net.Conn // takes the only one
	// over is closed when nothing more comes, dropped when no connection comes any more.
	over, dropped chan struct{}
	drop          sync.Once
	taken         flow.Meter // of an output

	mu      sync.Mutex
	claimed bool
	later   *time.Timer // unless nil, ends in dropIt
	late    bool        // a connection is not taken any more
	input   net.Conn    // unless nil, what carries the input
	ended   bool        // the input ends with what has come
}

func newCarriage() *carriage {
	return &carriage{
		conn:    make(chan net.Conn, 1),
		over:    make(chan struct{}),
		dropped: make(chan struct{}),
	}
}

// carry opens the FIFOs and begins to copy. Opening does not wait for the shim.
func carry(ctx context.Context, streams Streams, log *slog.Logger) (_ *carried, err error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &carried{cancel: cancel}
	defer func() {
		if err != nil {
			c.letGo([]string{streams.Stdout, streams.Stderr})
		}
	}()

	for number, path := range []string{Stdin: streams.Stdin, Stdout: streams.Stdout, Stderr: streams.Stderr} {
		if path == "" {
			continue
		}

		one := newCarriage()
		if number == Stdin {
			// Kept open, so that the input does not end before the connection comes.
			one.fifo, err = fifo.OpenFifo(ctx, path, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_NONBLOCK, 0o600)
		} else {
			var o *output
			o, err = openOutput(path)
			one.fifo = o
		}
		if err != nil {
			return nil, fmt.Errorf("open stream %d of program %q: %w", number, streams.ID, err)
		}

		if streams.Carried&(1<<number) == 0 {
			one.dropIt()
		}
		c.streams[number] = one
		go one.pass(number == Stdin, log.With("program", streams.ID, "stream", number))
	}

	return c, nil
}

// pass copies between the FIFO and the connection until one of them ends. What nobody reads any more is dropped: it
// must not hold the program up.
func (c *carriage) pass(input bool, log *slog.Logger) {
	defer close(c.over)
	defer c.fifo.Close()
	conn := c.awaitConn()
	if conn != nil {
		defer conn.Close()
	}

	from := struct{ io.Reader }{c.fifo} // by Read alone, which waits for the first writer
	var err error
	switch {
	case conn == nil && !input:
		_, err = io.Copy(io.Discard, from)
	case conn == nil:
	case input:
		_, err = io.Copy(c.fifo, &untilEnd{conn: conn, stream: c})
	default:
		if _, err = io.Copy(c.taken.Writer(conn), from); err != nil {
			_, _ = io.Copy(io.Discard, from)
		}
	}
	if err != nil {
		log.Debug("stream has broken", "error", err)
	}
}

// awaitConn returns the connection, or nil if none comes any more. One that has come counts, though the stream was
// dropped since.
func (c *carriage) awaitConn() net.Conn {
	select {
	case conn := <-c.conn:
		return conn
	case <-c.dropped:
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = true
	select {
	case conn := <-c.conn:
		return conn
	default:
		return nil
	}
}

// claim reports whether the stream may have a connection, which it has once. Who has claimed it says what becomes of
// it, by connect, unclaim or dropIt, and time alone does not.
func (c *carriage) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.dropped:
		return false
	default:
	}
	claimed := c.claimed
	c.claimed = true
	if c.later != nil {
		c.later.Stop()
	}
	return !claimed
}

// unclaim says that the connection has not come, since its owner has ended: the next one may bring it, for a while.
func (c *carriage) unclaim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claimed = false
	c.dropLater()
}

// dropIt says that no connection comes any more, unless it has come.
func (c *carriage) dropIt() { c.drop.Do(func() { close(c.dropped) }) }

// dropLater says that no connection comes any more after the time that one may be on its way, unless one is claimed by
// then. c.mu is held.
func (c *carriage) dropLater() {
	if c.claimed {
		return
	}
	if c.later != nil {
		c.later.Stop()
	}
	c.later = time.AfterFunc(connectTimeout, c.dropIt)
}

// connect gives the stream its connection. One that comes too late is closed.
func (c *carriage) connect(conn net.Conn, input bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late {
		_ = conn.Close()
		return
	}
	if input {
		c.input = conn
	}
	c.conn <- conn
}

// endInput ends the input after what has been sent. awaits says that a connection, if there is none yet, is on its way.
func (c *carriage) endInput(awaits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	switch {
	case c.input != nil:
		boundSilence(c.input) // wakes who reads
	case awaits:
		c.dropLater()
	default:
		c.dropIt()
	}
}

// connectTimeout is how long a connection may be on its way.
const connectTimeout = 10 * time.Second

// An input that was ended, on a connection that was not, is over after so many silences.
const (
	silence  = time.Second
	silences = 2 // one may have passed while this process stood still
)

func boundSilence(conn net.Conn) { _ = conn.SetReadDeadline(time.Now().Add(silence)) }

// untilEnd reads an input. When endInput is called, a part of what was sent may still be with the sender's kernel: the
// receive buffer is full while the program does not read. Shutting down the receiving side would lose that part. It
// comes as room is made, and then the sender's end, since who ends an input closes its connection, too
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/internal/hcs/process.go, CloseStdin). With one who does not,
// silence is the end.
type untilEnd struct {
	conn   net.Conn
	stream *carriage
	silent int // how many silences there were since something came
}

func (u *untilEnd) Read(p []byte) (int, error) {
	for {
		if u.stream.inputEnded() {
			boundSilence(u.conn)
		}
		n, err := u.conn.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			u.silent = 0
			return n, err
		}
		if u.silent++; u.silent == silences {
			return 0, io.EOF
		}
	}
}

func (c *carriage) inputEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// letGo ends the streams of a program that is no more: what it has written is still read by who has a connection, or
// whose connection is on its way. outputs are the paths of the FIFOs.
func (c *carried) letGo(outputs []string) {
	for number, one := range c.streams {
		switch {
		case one == nil:
		case number == Stdin:
			one.dropIt()
			one.endInput(false)
		default:
			one.mu.Lock()
			one.dropLater()
			one.mu.Unlock()
		}
	}

	for _, path := range outputs { // a writer that comes and goes ends the wait for the first one
		if w, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			_ = w.Close()
		}
	}

	c.cancel()
}

// awaitEnd returns when all that the program has written is read, or dropped.
func (c *carried) awaitEnd() {
	for _, one := range c.streams {
		if one != nil {
			<-one.over
		}
	}
}

// stream returns a stream of a program; nil: there is none.
func (c *carried) stream(number int) *carriage {
	if c == nil || number < 0 || number >= streamCount {
		return nil
	}
	return c.streams[number]
}

// carrying returns a stream of a program.
func (k *Keeper) carrying(id string, number int) (*carriage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.programs[id].stream(number); one != nil {
		return one, nil
	}
	return nil, fmt.Errorf("stream %d of program %q is not carried", number, id)
}

// connectable returns a stream of a program that may get a connection: an output also when the program is no more.
func (k *Keeper) connectable(id string, number int) (*carriage, error) {
	one, err := k.carrying(id, number)
	if err == nil || number == Stdin {
		return one, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.past[id].stream(number); one != nil {
		return one, nil
	}
	return nil, err
}

func (k *Keeper) carry(ctx context.Context, streams Streams) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.programs[streams.ID] != nil {
		return nil
	}
	c, err := carry(ctx, streams, k.log)
	if err != nil {
		return err
	}
	k.programs[streams.ID] = c
	return nil
}

// letGo forgets a program; what it has written is kept until it is read, or nobody comes who reads it. One that is not
// there is no error.
func (k *Keeper) letGo(streams Streams) {
	k.mu.Lock()
	c := k.programs[streams.ID]
	delete(k.programs, streams.ID)
	if c != nil {
		k.past[streams.ID] = c
	}

	k.mu.Unlock()
	if c == nil {
		return
	}

	c.letGo([]string{streams.Stdout, streams.Stderr})
	go func() {
		c.awaitEnd()
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.past[streams.ID] == c { // and not a later program of this name
			delete(k.past, streams.ID)
		}
	}()
}

// awaitInput returns when the input of a program has ended.
func (k *Keeper) awaitInput(ctx context.Context, id string) error {
	one, err := k.carrying(id, Stdin)
	if err != nil {
		return err
	}
	select {
	case <-one.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect takes a connection, which follows the answer as a file descriptor, for a stream of a program.
func (k *Keeper) connect(c net.Conn, r *bufio.Reader, req request) {
	one, err := k.connectable(req.ID, req.Number)
	if err == nil && !one.claim() {
		err = fmt.Errorf("stream %d of program %q has a connection", req.Number, req.ID)
	}
	if err != nil {
		_ = writeJSON(c, response{Error: err.Error()})
		return
	}

	if err := writeJSON(c, response{Greets: true}); err != nil {
		one.unclaim()
		return
	}

	conn, err := receive(c, r)
	if err != nil {
		k.log.Warn("connection of a stream not taken", "program", req.ID, "error", err)
		if errors.Is(err, errGone) {
			one.unclaim()
		} else {
			one.dropIt()
		}
		return
	}

	_ = conn.SetWriteDeadline(time.Now().Add(connectTimeout))
	if _, err := conn.Write(req.Greeting); err != nil { // who would read is gone
		k.log.Debug("connection of a stream not greeted", "program", req.ID, "error", err)
	}
	_ = conn.SetWriteDeadline(time.Time{})
	one.connect(conn, req.Number == Stdin)
	_ = writeJSON(c, response{}) // whether the client still hears it or not
}

// awaitTaken returns when all output of a program has been taken, or nothing more comes for a while, as when what it
// has left running holds its streams open. A reader that is slow is waited for as long as it lives. Of a program
// that is not there nothing is left to take.
func (k *Keeper) awaitTaken(ctx context.Context, id string) {
	for _, number := range []int{Stdout, Stderr} {
		if one, err := k.carrying(id, number); err == nil {
			one.taken.Await(ctx, one.over, takenPatience)
		}
	}
}

// takenPatience is how long an output is waited for of which nothing comes.
const takenPatience = time.Second

// send sends a connection as a file descriptor.
func send(ctx context.Context, c *net.UnixConn, conn syscall.Conn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var sent error
	err = raw.Control(func(fd uintptr) {
		_, _, sent = c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil)
	})
	return errors.Join(err, sent)
}

// errGone says that who had a connection to give has ended.
var errGone = errors.New("its owner is gone")

// receive receives a connection.
func receive(c net.Conn, r *bufio.Reader) (net.Conn, error) {
	unixConn, ok := c.(*net.UnixConn)
	if !ok || r.Buffered() > 0 {
		return nil, errors.New("receive connection: something else came")
	}

	_ = c.SetReadDeadline(time.Now().Add(connectTimeout))
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	came, n, _, _, err := unixConn.ReadMsgUnix(data, rights)
	if came == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("receive connection: %w: %w", errGone, err)
	}
	if err != nil {
		return nil, fmt.Errorf("receive connection: %w", err)
	}

	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive connection: %d messages came: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		for _, fd := range fds { // there is room for two
			_ = unix.Close(fd)
		}
		return nil, fmt.Errorf("receive connection: %d came: %w", len(fds), err)
	}

	unix.CloseOnExec(fds[0])
	f := os.NewFile(uintptr(fds[0]), "stream")
	defer f.Close()
	return net.FileConn(f)
}
