package single

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/fifo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/rotate"
	"mullion.dev/mullion/internal/runtime/cri/stream"
	"mullion.dev/mullion/internal/runtime/engine"
)

// outputs take what a container's program says, and pass it on to its log and to its client, if it has one.
type outputs struct {
	io engine.IO
	// own are the engine's ends of the FIFOs, clients the ends at which the client reads.
	own     *pipes
	clients []io.Closer
	log     *containerLog
	// logged is closed when the program can say no more, and its log has all of it; drained when its client has, too.
	logged, drained chan struct{}
}

// mostOfLog is how large a file of a container's log becomes, in bytes; three are kept.
const mostOfLog = 10 << 20

// connect makes the FIFOs of a container and begins to pass on.
func (k *container) connect(ctx context.Context) (_ *outputs, err error) {
	p := k.service.options.Paths
	dir, client := p.container(k.id), p.streams(k.ask.Streams)
	o := &outputs{
		logged:  make(chan struct{}),
		drained: make(chan struct{}),
		io:      engine.IO{Terminal: k.ask.Terminal},
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()

	log := k.service.options.Log.With("container", k.name)
	if o.log, err = openContainerLog(p.containerLog(k.id), log); err != nil {
		return nil, err
	}
	// They are read to their end, whatever has ended the container.
	o.own, err = openStreams(context.WithoutCancel(ctx), dir, k.ask.Terminal, k.ask.Stdin && k.ask.Detach)
	if err != nil {
		return nil, err
	}

	if k.ask.Stdin {
		o.io.Stdin = filepath.Join(dir, "stdin") // its end never comes: nobody writes
		if !k.ask.Detach {
			o.io.Stdin = filepath.Join(client, "stdin")
		}
	}

	var logs, all sync.WaitGroup
	for _, one := range []struct {
		name string
		from io.Reader
		path *string
	}{{"stdout", o.own.out, &o.io.Stdout}, {"stderr", o.own.err, &o.io.Stderr}} {
		if one.name == "stderr" && k.ask.Terminal {
			continue // a terminal has one output
		}

		*one.path = filepath.Join(dir, one.name)
		var to io.WriteCloser
		if !k.ask.Detach {
			// What is written waits until the client has opened its end.
			to, err = fifo.OpenFifo(ctx, filepath.Join(client, one.name), unix.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				return nil, fmt.Errorf("connect streams: %w", err)
			}
			o.clients = append(o.clients, to)
		}

		logs.Add(1)
		all.Go(func() { pass(one.from, stream.NewLines(o.log, one.name), to, k.ended, logs.Done) })
	}

	go func() {
		logs.Wait()
		close(o.logged)
		all.Wait()
		close(o.drained)
	}()
	return o, nil
}

// mostLeft is how much of an ended program's output waits in memory for its client, in bytes: more than the pipe, the
// FIFO and their copies hold.
const mostLeft = 1 << 20

// pass passes on what comes of a stream until its end; logged is called when the log has all of it. What cannot be
// passed on does not hold the program up, but for a client that reads slowly. When the program has ended, what it has
// left is read though its client does not: containerd's shim, and with it the pipe, does not wait long
// (https://github.com/containerd/containerd/blob/v2.4.2/cmd/containerd-shim-runc-v2/process/init.go, delete).
func pass(from io.Reader, lines *stream.Lines, to io.WriteCloser, ended <-chan struct{}, logged func()) {
	queue := make(chan []byte)
	var client sync.WaitGroup
	if to != nil {
		client.Go(func() { forward(queue, to) })
	}

	buffer := make([]byte, 32<<10)
	var left []byte
	for {
		n, err := from.Read(buffer)
		_, _ = lines.Write(buffer[:n]) // the log has said it
		if to != nil && n > 0 {
			left = offer(append(left, buffer[:n]...), queue, ended)
		}
		if err != nil {
			break
		}
	}

	_ = lines.Flush() // the log has said it
	logged()
	if len(left) > 0 {
		queue <- left
	}
	close(queue)
	client.Wait()
}

// offer gives what is left to the client, and returns what is to be offered again, since the program has ended.
func offer(left []byte, queue chan<- []byte, ended <-chan struct{}) []byte {
	if len(left) >= mostLeft {
		ended = nil
	}
	select {
	case queue <- left:
		return nil
	case <-ended:
		return left
	}
}

// forward writes what comes to a client, and drops what a client that is gone would have had.
func forward(queue <-chan []byte, to io.WriteCloser) {
	gone := false
	for text := range queue {
		if gone {
			continue
		}
		if _, err := to.Write(text); err != nil {
			_ = to.Close()
			gone = true
		}
	}

	if !gone {
		_ = to.Close()
	}
}

// finish is called when nothing of the container runs any more. It returns when its log is complete, which a client
// that has much to read may delay.
func (o *outputs) finish(patience time.Duration) {
	select {
	case <-o.logged:
	case <-time.After(patience):
	}
}

// passedOn returns when the client has all of it, or is gone.
func (o *outputs) passedOn(ctx context.Context) {
	select {
	case <-o.drained:
	case <-ctx.Done():
	}
	o.close()
}

// close ends what is still passed on, and is safe to repeat.
func (o *outputs) close() {
	if o.own != nil {
		o.own.close()
	}
	for _, c := range o.clients {
		_ = c.Close()
	}
	if o.log != nil {
		o.log.close()
	}
}

// containerLog is the log of a container. Without space on the disk it loses what is written, and says so once.
type containerLog struct {
	log *slog.Logger

	mu   sync.Mutex
	file *rotate.File // nil when it is closed
	lost bool
}

func openContainerLog(path string, log *slog.Logger) (*containerLog, error) {
	file, err := rotate.Open(path, mostOfLog)
	return &containerLog{log: log, file: file}, err
}

// Write adds records.
func (l *containerLog) Write(records []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, os.ErrClosed
	}
	n, err := l.file.Write(records)
	if err != nil && !l.lost {
		l.lost = true
		l.log.Warn("output of a container is lost: its log cannot be written", "error", err)
	}
	return n, err
}

func (l *containerLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		l.log.Warn("log of a container not closed", "error", err)
	}
	l.file = nil
}
