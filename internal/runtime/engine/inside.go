package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/pkg/cio"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/containerinit/wire"
)

// A program can be started by the container's first process, which is where the program is to be: in its namespaces and
// its cgroup, under its limits and its filter of system calls. That costs a fork. containerd and runc, who start
// programs in every other case, need several programs of their own for it.
//
// What the first process says is what the container says of itself: it can make its own programs fail, and no others.

const (
	// helloTimeout is how long the first process may take to answer; then the program is started otherwise.
	helloTimeout = 2 * time.Second
	// killedCode is the exit code of a program that SIGKILL ended.
	killedCode = 128 + uint32(unix.SIGKILL)
	// mostReply is more than any packet of the first process has.
	mostReply = 16
)

// inside is a program that the container's first process has started.
type inside struct {
	conn  *net.UnixConn
	stdio *insideIO
}

// startInside has the container's first process start a program. errNotInside: nothing was started; whoever starts it
// otherwise finds out why it cannot be. With another error it may run, and may be about to.
func (e *Engine) startInside(ctx context.Context, k kind, x ExecSpec) (*inside, error) {
	process := e.execProcess(k, x)
	packet, err := wire.Request{
		UID:  int(process.User.UID),
		Dir:  process.Cwd,
		Args: process.Args,
		Env:  process.Env,
	}.Encode()
	if x.Inside == "" || x.Terminal || err != nil {
		return nil, errNotInside
	}

	conn, owner, err := dialInside(ctx, x.Inside)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotInside, err)
	}
	stdio, files, err := newInsideIO(x, owner)
	if err != nil {
		return nil, errors.Join(errNotInside, err, conn.Close())
	}

	p := &inside{conn: conn, stdio: stdio}
	err = p.ask(ctx, packet, files)
	for _, f := range files {
		_ = f.Close() // the program has its own
	}

	switch {
	case errors.Is(err, errNotInside):
		p.stdio.Cancel()
		return nil, errors.Join(err, conn.Close())
	case err != nil:
		p.stdio.Cancel()
		return p, err
	}

	stdio.copy()
	return p, nil
}

// errNotInside says that a container's first process has started no program.
var errNotInside = errors.New("not started by the container's first process")

// dialInside connects to the first process of the container whose working folder it is, and returns the user of the
// machine that the process has. The folder is the container's: what lies at the socket's name is opened once, and no
// link is followed.
func dialInside(ctx context.Context, folder string) (*net.UnixConn, uint32, error) {
	fd, err := unix.Open(filepath.Join(folder, wire.SocketName), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	var at unix.Stat_t
	if err := unix.Fstat(fd, &at); err != nil {
		return nil, 0, err
	}

	if at.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, 0, fmt.Errorf("%s is no socket", wire.SocketName)
	}

	c, err := (&net.Dialer{}).DialContext(ctx, "unixpacket", fdPath(fd))
	if err != nil {
		return nil, 0, err
	}
	conn := c.(*net.UnixConn) //nolint:forcetypeassert // of this network it is one
	if err := hello(ctx, conn); err != nil {
		return nil, 0, errors.Join(err, conn.Close())
	}

	return conn, at.Uid, nil
}

// hello waits until the first process says that it serves.
func hello(ctx context.Context, conn *net.UnixConn) error {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	packet, err := readPacket(ctx, conn)
	if err == nil && string(packet) != wire.Hello {
		err = fmt.Errorf("it speaks another language: %q", packet)
	}
	return err
}

// ask sends the request, with the program's files, and returns when the program runs.
func (p *inside) ask(ctx context.Context, packet []byte, files []*os.File) error {
	var descriptors []int
	for _, f := range files {
		descriptors = append(descriptors, int(f.Fd()))
	}

	if err := p.conn.SetWriteDeadline(time.Now().Add(helloTimeout)); err != nil {
		return fmt.Errorf("%w: %w", errNotInside, err)
	}
	if _, _, err := p.conn.WriteMsgUnix(packet, unix.UnixRights(descriptors...), nil); err != nil {
		return fmt.Errorf("%w: %w", errNotInside, err) // a packet is sent whole or not at all
	}

	r, err := p.reply(ctx)
	switch {
	case err != nil:
		return err
	case r.Verb == wire.Refused:
		return fmt.Errorf("%w: %w", errNotInside, unix.Errno(r.Value))
	case r.Verb != wire.Started:
		return wire.ErrRequest
	}

	return nil
}

// reply reads what the first process says next.
func (p *inside) reply(ctx context.Context) (wire.Reply, error) {
	packet, err := readPacket(ctx, p.conn)
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.DecodeReply(packet)
}

// packets is what is read of a connection.
type packets interface {
	io.Reader
	SetReadDeadline(at time.Time) error
}

// readPacket reads a packet, or returns ctx's error when ctx ends before there is one. A packet that was read is never
// lost: whoever looked for it afterwards would look for ever. A connection that is read no more is closed by the
// caller.
func readPacket(ctx context.Context, conn packets) ([]byte, error) {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		close(stopped)
	})

	packet := make([]byte, mostReply)
	n, err := conn.Read(packet)
	if errors.Is(err, io.EOF) {
		// Linux looks for a packet first and for the end then: of an end that came between the two it tells before the
		// packet that came with it (unix_dgram_recvmsg in net/unix/af_unix.c, SOCK_SEQPACKET without blocking).
		n, err = conn.Read(packet)
	}

	if !stop() {
		<-stopped // what is read later has a deadline of its own
		if err != nil {
			return nil, ctx.Err()
		}
	}
	return packet[:n], err
}

// execInside runs a program by the container's first process, as Exec does. With errNotInside nothing was started.
func (e *Engine) execInside(ctx context.Context, id string, k kind, x ExecSpec) (Exit, error) {
	p, err := e.startInside(ctx, k, x)
	switch {
	case errors.Is(err, errNotInside):
		return Exit{}, err
	case err != nil:
		go func() {
			p.settle()
			e.endExec(context.WithoutCancel(ctx), id, x, p.stdio)
		}()
		return Exit{}, fmt.Errorf("start program in container %q: %w", id, err)
	}

	defer func() { _ = p.conn.Close() }()

	r, err := p.reply(ctx)
	if errors.Is(err, io.EOF) { // the first process is gone, and all that it has started with it
		r, err = wire.Reply{Verb: wire.Ended, Value: killedCode}, nil
	}
	if err == nil && r.Verb != wire.Ended {
		err = wire.ErrRequest
	}
	if err != nil {
		p.stdio.Cancel()
		// The first process is to know it before what has the id of the exec is looked for: who started this program
		// may start another one otherwise, and be killed for this one.
		_ = p.conn.Close()
		go e.endExec(context.WithoutCancel(ctx), id, x, p.stdio)
		return Exit{}, fmt.Errorf("wait for program in container %q: %w", id, err)
	}

	exit := Exit{Code: r.Value, At: time.Now()}
	drain(ctx, p.stdio, x.taken)
	x.over(0)
	return exit, nil
}

// settle returns when it is certain whether the program was started: one that nobody waits for any more may come up at
// any time, and is to be ended then.
func (p *inside) settle() {
	_ = p.conn.SetReadDeadline(time.Now().Add(startTimeout)) // a connection that is closed has no answer
	_, _ = p.conn.Read(make([]byte, mostReply))              // whatever it is
	_ = p.conn.Close()
}

// insideIO are the streams of a program: pipes, whose other ends it has. It is a cio.IO.
type insideIO struct {
	in       *os.File // nil: the program's input is empty
	out, err *os.File
	spec     ExecSpec
	drained  chan struct{}
}

// newInsideIO makes the pipes, and returns the program's ends, which the caller closes. They belong to the container's
// user, whose programs may open them again by their paths in /proc.
func newInsideIO(x ExecSpec, owner uint32) (_ *insideIO, files []*os.File, err error) {
	s := &insideIO{spec: x, drained: make(chan struct{})}
	defer func() {
		if err == nil {
			return
		}
		for _, f := range append(files, s.in, s.out, s.err) {
			_ = f.Close() // nil is an error and no harm
		}
	}()

	if x.Stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, files, err
		}
		files = append(files, null)
	} else {
		theirs, ours, err := pipe(owner, 1)
		if err != nil {
			return nil, files, err
		}
		files, s.in = append(files, theirs), ours
	}

	for _, end := range []**os.File{&s.out, &s.err} {
		ours, theirs, err := pipe(owner, 0)
		if err != nil {
			return nil, files, err
		}
		files, *end = append(files, theirs), ours
	}

	return s, files, nil
}

// pipe makes a pipe of which one end, 0 to read or 1 to write, is this process's. To its program the other one must
// block, as every pipe does that a program is started with.
func pipe(owner uint32, ours int) (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if err = unix.SetNonblock(ends[ours], true); err == nil {
		err = unix.Fchown(ends[ours], int(owner), int(owner))
	}
	read, write = os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	if err != nil {
		return nil, nil, errors.Join(err, read.Close(), write.Close())
	}
	return read, write, nil
}

// copy begins to copy between the pipes and the streams.
func (s *insideIO) copy() {
	if s.in != nil {
		go func() {
			_, _ = io.Copy(s.in, s.spec.Stdin) // until it has no more, or nobody reads
			_ = s.in.Close()
		}()
	}
	out, errs := copyOf(s.out, s.spec.Stdout), copyOf(s.err, s.spec.Stderr)
	go func() {
		<-out
		<-errs
		close(s.drained)
	}()
}

// copyOf copies what a program says until it has ended, and all that have its stream. to may be nil.
func copyOf(from *os.File, to io.Writer) <-chan struct{} {
	done := make(chan struct{})
	if to == nil {
		to = io.Discard
	}
	go func() {
		defer close(done)
		_, _ = io.Copy(to, from) // until the end, or until nobody wants it any more
		_ = from.Close()
	}()
	return done
}

// Config says nothing: the streams have no names.
func (*insideIO) Config() cio.Config { return cio.Config{} }

// Cancel ends the copying.
func (s *insideIO) Cancel() {
	for _, f := range []*os.File{s.in, s.out, s.err} {
		_ = f.Close() // nil is an error and no harm; so is one that is closed
	}
}

// Wait returns when all output is copied.
func (s *insideIO) Wait() { <-s.drained }

// Close frees what is left.
func (s *insideIO) Close() error {
	s.Cancel()
	return nil
}
