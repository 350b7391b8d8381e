package hcs

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"

	"github.com/containerd/fifo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/engine"
)

// streams are the standard streams of a process, each a connection of the program that has the process made. A stream
// that it did not ask for is nil.
type streams struct{ in, out, err *stream }

func newStreams(p processParameters) (s streams) {
	if p.CreateStdInPipe {
		s.in = newStream()
	}
	if p.CreateStdOutPipe {
		s.out = newStream()
	}
	if p.CreateStdErrPipe && !p.EmulateConsole { // a console has one output
		s.err = newStream()
	}
	return s
}

// The streams by their numbers.
const (
	stdin = iota
	stdout
	stderr
)

func (s streams) of(number string) *stream {
	switch number {
	case "0":
		return s.in
	case "1":
		return s.out
	case "2":
		return s.err
	}
	return nil
}

// mask has a bit for each stream.
func (s streams) mask() (mask uint32) {
	for bit, one := range []*stream{stdin: s.in, stdout: s.out, stderr: s.err} {
		if one != nil {
			mask |= 1 << bit
		}
	}
	return mask
}

// give gives the streams to a program that is run in a container.
func (s streams) give(x *engine.ExecSpec) {
	if s.in != nil {
		x.Stdin = s.in
	}
	if s.out != nil {
		x.Stdout = s.out
	}
	if s.err != nil {
		x.Stderr = s.err
	}
}

// connect makes FIFOs in a folder for PID 1 and copies between them and the streams; what goes to an output that nobody
// asked for is read and dropped. inputEnded is called at the end of the input.
func (s streams) connect(ctx context.Context, dir string, terminal bool, inputEnded func()) (engine.IO, error) {
	stdio := engine.IO{Stdout: filepath.Join(dir, "stdout"), Terminal: terminal}
	outputs := map[string]*stream{stdio.Stdout: s.out}
	if !terminal { // containerd's shim wants both
		stdio.Stderr = filepath.Join(dir, "stderr")
		outputs[stdio.Stderr] = s.err
	}
	for path, to := range outputs {
		f, err := fifo.OpenFifo(ctx, path, unix.O_RDONLY|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return stdio, fmt.Errorf("make stream of compute system: %w", err)
		}
		go func() {
			defer f.Close()
			if to == nil {
				_, _ = io.Copy(io.Discard, f)
				return
			}
			_, _ = io.Copy(to, f)
			to.finish()
		}()
	}
	if s.in == nil {
		return stdio, nil
	}
	stdio.Stdin = filepath.Join(dir, "stdin")
	f, err := fifo.OpenFifo(ctx, stdio.Stdin, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return stdio, fmt.Errorf("make input of compute system: %w", err)
	}
	go func() {
		_, _ = io.Copy(f, s.in)
		_ = f.Close()
		s.in.finish()
		inputEnded()
	}()
	return stdio, nil
}

// end ends the input, which nobody reads any more. The outputs end when all of them has been read.
func (s streams) end() {
	if s.in != nil {
		s.in.finish()
	}
}

// close ends all streams.
func (s streams) close() {
	for _, one := range []*stream{s.in, s.out, s.err} {
		if one != nil {
			one.finish()
		}
	}
}

// stream is a standard stream of a process. It is read and written by who runs the process, from before there is a
// connection.
type stream struct {
	connected chan struct{} // closed when conn is there
	over      chan struct{} // closed when nothing more comes
	once      sync.Once

	mu         sync.Mutex
	conn       net.Conn
	claimed    bool // a connection is going to be there
	inputEnded bool
}

func newStream() *stream {
	return &stream{connected: make(chan struct{}), over: make(chan struct{})}
}

// claim reports whether the stream may have a connection, which it has once: serve is called with it.
func (s *stream) claim() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed {
		return false
	}
	s.claimed = true
	return true
}

// serve has a connection carry the stream, and returns when that is over.
func (s *stream) serve(ctx context.Context, conn net.Conn) {
	s.mu.Lock()
	s.conn = conn
	close(s.connected)
	if s.inputEnded {
		closeRead(conn)
	}
	s.mu.Unlock()
	select {
	case <-s.over:
	case <-ctx.Done():
		s.finish()
	}
}

// await returns the connection; nil: the stream is over.
func (s *stream) await() net.Conn {
	select {
	case <-s.over:
		return nil
	default:
	}
	select {
	case <-s.connected:
		return s.conn
	case <-s.over:
		return nil
	}
}

// Read reads the input.
func (s *stream) Read(b []byte) (int, error) {
	conn := s.await()
	if conn == nil {
		return 0, io.EOF
	}
	n, err := conn.Read(b)
	if err != nil { // also that of a program that was killed
		err = io.EOF
	}
	return n, err
}

// Write writes the output. What nobody reads any more is dropped: it must not hold the program up.
func (s *stream) Write(b []byte) (int, error) {
	if conn := s.await(); conn != nil {
		_, _ = conn.Write(b)
	}
	return len(b), nil
}

// finish ends the stream. What is written is still read.
func (s *stream) finish() { s.once.Do(func() { close(s.over) }) }

// endInput ends the input of a process, after what has been sent; one that has none is no error.
func (s *stream) endInput() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputEnded = true
	switch {
	case s.conn != nil:
		closeRead(s.conn)
	case !s.claimed:
		s.finish()
	}
}

// closeRead ends what comes on a connection: who reads it gets what has come, and then the end.
func closeRead(conn net.Conn) {
	if half, ok := conn.(interface{ CloseRead() error }); ok {
		_ = half.CloseRead()
	}
}
