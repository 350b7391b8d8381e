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
	// drained is closed when the program can say no more, and all of it is passed on.
	drained chan struct{}
}

// mostOfLog is how large a file of a container's log becomes, in bytes; three are kept.
const mostOfLog = 10 << 20

// connect makes the FIFOs of a container and begins to pass on.
func (k *container) connect(ctx context.Context) (_ *outputs, err error) {
	p := k.service.options.Paths
	dir, client := p.container(k.id), p.streams(k.ask.Streams)
	o := &outputs{drained: make(chan struct{}), io: engine.IO{Terminal: k.ask.Terminal}}
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

	var all sync.WaitGroup
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

		all.Go(func() { pass(one.from, stream.NewLines(o.log, one.name), to) })
	}

	go func() {
		all.Wait()
		close(o.drained)
	}()
	return o, nil
}

// pass passes on what comes of a stream until its end. What cannot be passed on does not hold the program up, but for a
// client that reads slowly.
func pass(from io.Reader, lines *stream.Lines, to io.WriteCloser) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		_, _ = lines.Write(buffer[:n]) // the log has said it
		if to != nil && n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = to.Close()
				to = nil // the client is gone
			}
		}

		if err != nil {
			break
		}
	}

	_ = lines.Flush() // the log has said it
	if to != nil {
		_ = to.Close()
	}
}

// finish is called when nothing of the container runs any more. It returns when its log is complete, unless a client
// reads too slowly.
func (o *outputs) finish(patience time.Duration) {
	select {
	case <-o.drained:
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
