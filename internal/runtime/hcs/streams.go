package hcs

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
)

// streams are the standard streams of a process: FIFOs, which the engine's shim has at one end and the keeper of
// streams at the other. The keeper joins each that was asked for with a connection of the program that has the process
// made, so that they go on while this service is away.
type streams struct {
	keeper *stream.Client
	set    stream.Streams
	// terminal says that there is one output.
	terminal bool

	mu      sync.Mutex
	claimed uint32 // a bit for each stream that has a connection, or will have
}

// newStreams returns the streams of a process, whose FIFOs are in a folder. carried has a bit for each that was asked
// for.
func newStreams(keeper *stream.Client, folder, id string, carried uint32, terminal bool) *streams {
	s := &streams{keeper: keeper, terminal: terminal}
	// containerd's shim wants both outputs; a terminal has one.
	s.set = stream.Streams{
		ID:      id,
		Stdout:  filepath.Join(folder, "stdout"),
		Carried: carried,
	}

	if !terminal {
		s.set.Stderr = filepath.Join(folder, "stderr")
	}
	if carried&(1<<stream.Stdin) != 0 {
		s.set.Stdin = filepath.Join(folder, "stdin")
	}
	return s
}

// carriedOf has a bit for each stream that a process is to have.
func carriedOf(p processParameters) (mask uint32) {
	for number, asked := range []bool{
		stream.Stdin:  p.CreateStdInPipe,
		stream.Stdout: p.CreateStdOutPipe,
		stream.Stderr: p.CreateStdErrPipe && !p.EmulateConsole,
	} {
		if asked {
			mask |= 1 << number
		}
	}
	return mask
}

// open makes the FIFOs, with the keeper at their ends.
func (s *streams) open(ctx context.Context) error {
	if err := os.MkdirAll(s.folder(), 0o700); err != nil {
		return err
	}
	return s.keeper.Carry(ctx, s.set)
}

// again gives the streams to a new keeper. Their connections have ended with the old one.
func (s *streams) again(ctx context.Context) error {
	set := s.set
	set.Carried = 0
	return s.keeper.Carry(ctx, set)
}

// io returns what the engine connects.
func (s *streams) io() engine.IO {
	return engine.IO{
		Stdin:    s.set.Stdin,
		Stdout:   s.set.Stdout,
		Stderr:   s.set.Stderr,
		Terminal: s.terminal,
	}
}

// number is that of a stream that was asked for.
func (s *streams) number(text string) (int, bool) {
	number, err := strconv.Atoi(text)
	return number, err == nil && number >= stream.Stdin && number <= stream.Stderr && s.set.Carried&(1<<number) != 0
}

// claim reports whether a stream may have a connection, which it has once.
func (s *streams) claim(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.claimed&(1<<number) == 0
	s.claimed |= 1 << number
	return free
}

// connect gives a connection to the keeper, who writes the answer to it: a program that has no answer asks again.
func (s *streams) connect(ctx context.Context, number int, conn net.Conn, answer []byte) error {
	raw, ok := conn.(interface {
		io.Writer
		syscall.Conn
	})
	if !ok {
		return errors.New("the connection has no file descriptor")
	}
	// It is handed over though the service ends: the keeper goes on.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handTimeout)
	defer cancel()
	err := s.keeper.Connect(ctx, s.set.ID, number, raw, answer)
	switch {
	case err == nil:
		return conn.Close() // only this end: the keeper has its own
	case errors.Is(err, stream.ErrRefused): // it has ended with an earlier keeper: what the program gets is the end
		_, answered := conn.Write(answer)
		return errors.Join(err, answered)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.claimed &^= 1 << number
	return errors.Join(err, conn.Close()) // which says that there is no answer
}

// handTimeout is how long handing a connection over may take.
const handTimeout = 5 * time.Second

// endInput ends the input, after what has been sent; a process that has none is no error.
func (s *streams) endInput(ctx context.Context) error {
	if s.set.Stdin == "" {
		return nil
	}
	s.mu.Lock()
	awaits := s.claimed&(1<<stream.Stdin) != 0
	s.mu.Unlock()
	return s.keeper.EndInput(ctx, s.set.ID, awaits)
}

// awaitInput returns when the input has ended; nil if there is none.
func (s *streams) awaitInput(ctx context.Context) error {
	if s.set.Stdin == "" {
		return errors.ErrUnsupported
	}
	return s.keeper.AwaitInput(ctx, s.set.ID)
}

// awaitTaken returns when the output of a process that has ended has been taken.
func (s *streams) awaitTaken(ctx context.Context) error { return s.keeper.AwaitTaken(ctx, s.set.ID) }

// letGo ends the streams of a process that is no more, and removes the FIFOs. What it has written is still read.
func (s *streams) letGo(ctx context.Context) error {
	return errors.Join(s.keeper.LetGo(ctx, s.set), os.RemoveAll(s.folder()))
}

// folder returns the folder of the FIFOs.
func (s *streams) folder() string { return filepath.Dir(s.set.Stdout) }
