package single

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/fifo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/flow"
)

// streamsPrefix begins the names of the folders of streams.
const streamsPrefix = "s"

// Streams are a client's own, and what it says while its container runs.
type Streams struct {
	In       io.Reader // what the program reads, if it has an input
	Out, Err io.Writer
	// Controls is what is said to the program; it may be nil.
	Controls <-chan Control
	// Started is called when the program runs; it may be nil.
	Started func(id string)
}

// started says that the program runs, to who wants to hear it.
func (s Streams) started(id string) {
	if s.Started != nil {
		s.Started(id)
	}
}

// drainTimeout is how long the output of a program that has ended is waited for while nobody is taking it.
const drainTimeout = 10 * time.Second

// Run runs a container and returns how its program ended. The error is a *Refusal if the program did not run.
func (c *Client) Run(ctx context.Context, ask Run, streams Streams) (End, error) {
	return c.carried(ctx, ask.Terminal, ask.Stdin, streams, func(folder string) Request {
		ask.Streams = folder
		return Request{Run: &ask}
	})
}

// Exec runs a program in a container that runs, and returns how it ended. The error is as with Run.
func (c *Client) Exec(ctx context.Context, ask Exec, streams Streams) (End, error) {
	return c.carried(ctx, ask.Terminal, ask.Stdin, streams, func(folder string) Request {
		ask.Streams = folder
		return Request{Exec: &ask}
	})
}

// RunLinux runs a command of a build, and returns how it ended. The error is as with Run.
func (c *Client) RunLinux(ctx context.Context, ask LinuxRun, streams Streams) (End, error) {
	return c.carried(ctx, false, false, streams, func(folder string) Request {
		ask.Streams = folder
		return Request{Linux: &ask}
	})
}

// errBegun is the error of a program that already ran.
var errBegun = errors.New("the container has ended with it")

// carried asks for a program, by a request that names the folder of its streams, and carries these.
func (c *Client) carried(ctx context.Context, terminal, stdin bool, streams Streams,
	request func(folder string) Request,
) (End, error) {
	var end End
	err := again(ctx, func() (err error) {
		end, err = c.carriedOnce(ctx, terminal, stdin, streams, request)
		return err
	})
	return end, err
}

func (c *Client) carriedOnce(ctx context.Context, terminal, stdin bool, streams Streams,
	request func(folder string) Request,
) (End, error) {
	made, err := c.Paths.makeStreams()
	if err != nil {
		return End{}, err
	}
	defer made.lock.Close() // after its removal: it says that the folder is used
	defer os.RemoveAll(made.Dir)
	pipes, err := openStreams(ctx, made.Dir, terminal, stdin)
	if err != nil {
		return End{}, err
	}

	defer pipes.close()
	to, err := c.ask(ctx, request(filepath.Base(made.Dir)))
	if err != nil {
		return End{}, err
	}
	defer to.Close()
	defer context.AfterFunc(ctx, func() { _ = to.Close() })()
	return c.follow(ctx, to, pipes, streams)
}

// follow carries streams and controls until the container has ended.
func (c *Client) follow(ctx context.Context, to *conn, pipes *pipes, streams Streams) (End, error) {
	drained, taken := pipes.copyOut(streams)
	over := make(chan struct{})
	defer close(over)

	said := make(chan Control)
	go speak(to, streams.Controls, said, over)
	copyIn := func() { // a reader of a terminal cannot be interrupted, and ends with the process
		_, _ = io.Copy(pipes.in, streams.In) // a program that has ended reads no more
		_ = pipes.in.Close()
		select {
		case said <- Control{InputEnded: true}:
		case <-over:
		}
	}

	begun := false
	for {
		e, err := to.next()
		switch {
		case ctx.Err() != nil:
			return End{}, context.Cause(ctx)
		case err != nil && begun:
			return End{}, fmt.Errorf("%w: %w", errBegun, err)
		case err != nil:
			return End{}, err
		case e.Refused != nil:
			return End{}, e.Refused
		case e.Ended != nil:
			taken.Await(ctx, drained, drainTimeout)
			return *e.Ended, nil

		case e.Begins, e.Started != "":
			if pipes.in != nil && !begun {
				go copyIn() // not before: what was read for an engine that is gone, the next one's program has not
			}
			begun = true
		}

		if e.Started != "" {
			streams.started(e.Started)
		}
		c.doing(e.Doing)
	}
}

// speak sends what is to be said, one after the other.
func speak(to *conn, controls, said <-chan Control, over <-chan struct{}) {
	for {
		var c Control
		select {
		case c = <-controls:
		case c = <-said:
		case <-over:
			return
		}
		if err := to.write.Encode(c); err != nil {
			return // who reads notices
		}
	}
}

// pipes are the client's ends of the FIFOs of a program's streams.
type pipes struct {
	in       io.WriteCloser
	out, err io.ReadCloser
}

func (p *pipes) close() {
	for _, c := range []io.Closer{p.in, p.out, p.err} {
		if c != nil {
			_ = c.Close()
		}
	}
}

// openStreams makes the FIFOs and opens them; the program's ends are opened when it starts.
func openStreams(ctx context.Context, dir string, terminal, input bool) (*pipes, error) {
	p := &pipes{}
	open := func(name string, flag int) (io.ReadWriteCloser, error) {
		f, err := fifo.OpenFifo(ctx, filepath.Join(dir, name), flag|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, fmt.Errorf("make stream: %w", err)
		}
		return f, nil
	}

	var err error
	if p.out, err = open("stdout", unix.O_RDONLY); err != nil {
		return nil, err
	}
	if !terminal {
		if p.err, err = open("stderr", unix.O_RDONLY); err != nil {
			return nil, errors.Join(err, p.out.Close())
		}
	}

	if input {
		if p.in, err = open("stdin", unix.O_WRONLY); err != nil {
			p.close()
			return nil, err
		}
	}

	return p, nil
}

// copyOut copies what the program says, and closes drained when there is no more.
func (p *pipes) copyOut(s Streams) (drained chan struct{}, taken *flow.Meter) {
	drained, taken = make(chan struct{}), &flow.Meter{}
	var all sync.WaitGroup
	all.Go(func() { _, _ = io.Copy(taken.Writer(s.Out), p.out) }) // nobody reads, or nobody writes, any more
	if p.err != nil {
		all.Go(func() { _, _ = io.Copy(taken.Writer(s.Err), p.err) })
	}
	go func() {
		all.Wait()
		close(drained)
	}()
	return drained, taken
}
