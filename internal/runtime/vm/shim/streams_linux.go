package shim

import (
	"context"
	"errors"
	"io"
	"net"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/fifo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/vm/link"
)

// streams are a process' standard streams: FIFOs of the host, each copied to or from a FIFO of the guest.
type streams struct {
	stdin, stdout, stderr string // FIFOs of the guest; "" where the host has none

	outputs sync.WaitGroup // being copied
	copied  atomic.Int64   // bytes of them

	mu   sync.Mutex
	keep io.Closer // this process' own writer of the input, which keeps it from ending
	all  []io.Closer
}

// request is one of containerd's with the paths of a process' FIFOs.
type request interface {
	GetStdin() string
	GetStdout() string
	GetStderr() string
}

// connect opens the FIFOs of the host that a request names, and their counterparts in the guest.
func connect(ctx context.Context, m *machine, r request) (*streams, error) {
	s := &streams{}
	var err error
	if s.stdin, err = s.input(ctx, m.host, m.number(), r.GetStdin()); err == nil {
		s.stdout, err = s.output(ctx, m.host, m.number(), r.GetStdout())
	}
	if err == nil {
		s.stderr, err = s.output(ctx, m.host, m.number(), r.GetStderr())
	}
	if err != nil {
		s.close()
		return nil, err
	}

	return s, nil
}

func (s *streams) input(ctx context.Context, host *link.Host, number int, from string) (string, error) {
	if from == "" {
		return "", nil
	}
	in, err := s.open(ctx, from, unix.O_RDONLY)
	if err != nil {
		return "", err
	}

	if s.keep, err = s.open(ctx, from, unix.O_WRONLY); err != nil {
		return "", err
	}

	stream, name, err := s.stream(host, link.Input, number)
	if err != nil {
		return "", err
	}
	go func() {
		_, _ = io.Copy(stream, in) // the guest's process may have ended
		_ = stream.Close()
	}()

	return name, nil
}

func (s *streams) output(ctx context.Context, host *link.Host, number int, to string) (string, error) {
	if to == "" {
		return "", nil
	}
	out, err := s.open(ctx, to, unix.O_WRONLY)
	if err != nil {
		return "", err
	}

	// The shim keeps the FIFO open for reading, so that it takes output while nobody else reads.
	reader, err := s.open(ctx, to, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	stream, name, err := s.stream(host, link.Output, number)
	if err != nil {
		return "", err
	}

	s.outputs.Go(func() {
		_, _ = io.Copy(counted{out, &s.copied}, stream) // its end is the end of the output
		_ = stream.Close()
		_ = out.Close()
		_ = reader.Close()
	})

	return name, nil
}

func (s *streams) open(ctx context.Context, path string, flag int) (io.ReadWriteCloser, error) {
	f, err := fifo.OpenFifo(ctx, path, flag|unix.O_NONBLOCK, 0)
	if err == nil {
		s.all = append(s.all, f)
	}
	return f, err
}

func (s *streams) stream(host *link.Host, kind link.Kind, number int) (net.Conn, string, error) {
	name := path.Join(link.FIFOs, strconv.Itoa(number))
	stream, err := host.Open(link.Request{Kind: kind, Path: name})
	if err == nil {
		s.all = append(s.all, stream)
	}
	return stream, name, err
}

// closeInput lets the input end when all others that write to it have closed it.
func (s *streams) closeInput() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keep == nil {
		return nil
	}
	err := s.keep.Close()
	s.keep = nil
	return err
}

// counted counts what is written. It writes little at a time, so that a slow reader is seen to take some of it: a write
// to a FIFO returns when all of it has a place there.
type counted struct {
	io.Writer

	bytes *atomic.Int64
}

// littleAtATime is a page, in bytes: as much of a FIFO becomes free at once (pipe(7)).
const littleAtATime = 4096

func (c counted) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		var n int
		n, err = c.Writer.Write(p[written:min(written+littleAtATime, len(p))])
		written += n
		c.bytes.Add(int64(n))
	}
	return written, err
}

// drainTimeout is how long the host may take nothing of what an ended process has written: a slow reader takes some of
// it, and whoever does not is gone, which the FIFO, whose other end this process holds open, too, does not show.
// containerd's shim of runc has the same time for all of it.
const drainTimeout = 10 * time.Second

// longestDrain is how long an ended process is waited for in all. What it has left, as a program that it began and that
// writes on, does not keep it for ever.
const longestDrain = 10 * time.Minute

// end closes the streams of an ended process, its output after it has been copied.
func (s *streams) end() {
	_ = s.closeInput()
	copied := make(chan struct{})
	go func() {
		s.outputs.Wait()
		close(copied)
	}()
	s.drain(copied)
	s.close()
}

// drain returns when copied is closed, nothing is copied any more, or it takes too long.
func (s *streams) drain(copied <-chan struct{}) {
	end := time.Now().Add(longestDrain)
	for before := int64(-1); before != s.copied.Load() && time.Now().Before(end); {
		before = s.copied.Load()
		select {
		case <-copied:
			return
		case <-time.After(drainTimeout):
		}
	}
}

func (s *streams) close() {
	var errs []error
	for _, c := range s.all {
		errs = append(errs, c.Close())
	}
	_ = errors.Join(errs...) // all that is left to do
}
