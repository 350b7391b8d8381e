package stream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/fifo"
)

// kept are the streams of one container.
type kept struct {
	log     *slog.Logger
	file    *logFile
	stdin   io.WriteCloser
	outputs []io.Closer
	drained chan struct{} // closed when all output has ended
	cancel  context.CancelFunc

	stdinEnd sync.Once

	mu      sync.Mutex
	clients map[net.Conn]bool
}

// keep opens the FIFOs and begins to copy. Opening does not wait for the shim.
func keep(ctx context.Context, streams Streams, log *slog.Logger) (*kept, error) {
	file, err := openLog(streams.LogPath)
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithCancel(ctx)
	s := &kept{
		log:     log.With("container", streams.ID),
		file:    file,
		drained: make(chan struct{}),
		cancel:  cancel,
		clients: map[net.Conn]bool{},
	}

	var wg sync.WaitGroup
	for _, out := range []struct {
		path, name string
		kind       byte
	}{{streams.Stdout, "stdout", frameStdout}, {streams.Stderr, "stderr", frameStderr}} {
		if out.path == "" {
			continue
		}
		f, err := openOutput(out.path)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("open %s of container %q: %w", out.name, streams.ID, err)
		}

		s.outputs = append(s.outputs, f)
		wg.Go(func() { s.copyOutput(ctx, f, out.name, out.kind) })
	}

	if streams.Stdin != "" {
		// Kept open, so that the container's input does not end when a client leaves.
		s.stdin, err = fifo.OpenFifo(ctx, streams.Stdin, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("open stdin of container %q: %w", streams.ID, err)
		}
	}

	go func() {
		wg.Wait()
		close(s.drained)
	}()
	return s, nil
}

// copyOutput copies one stream to the log and to those attached until it ends.
func (s *kept) copyOutput(ctx context.Context, r io.Reader, name string, kind byte) {
	lines := NewLines(s.file, name)
	lost := losses{
		log: s.log.With("stream", name), level: slog.LevelWarn, text: "output of container lost: its log cannot be written",
		now: time.Now,
	}
	defer lost.say(ctx)

	buf := make([]byte, 32*1024)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			// A log that cannot be written (a full disk) must not stop the container.
			if _, err := lines.Write(buf[:n]); err != nil {
				lost.add(ctx, err)
			}
			s.broadcast(kind, buf[:n])
		}

		if err != nil {
			break
		}
	}

	if err := lines.Flush(); err != nil {
		lost.add(ctx, err)
	}
}

func (s *kept) broadcast(kind byte, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.clients {
		_ = c.SetWriteDeadline(time.Now().Add(clientTimeout))
		if err := writeFrame(c, kind, data); err != nil {
			delete(s.clients, c)
			_ = c.Close()
		}
	}
}

func (s *kept) addClient(c net.Conn) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.clients, c)
	}
}

// writeStdin passes input on; without a stdin, or after the container's end, it is lost, as on a closed terminal.
func (s *kept) writeStdin(data []byte) {
	if s.stdin == nil {
		return
	}
	if _, err := s.stdin.Write(data); err != nil {
		s.log.Debug("input of container lost", "error", err)
	}
}

// endStdin closes the container's input, once.
func (s *kept) endStdin() {
	if s.stdin != nil {
		s.stdinEnd.Do(func() { _ = s.stdin.Close() })
	}
}

func (s *kept) close() {
	s.cancel()
	for _, out := range s.outputs {
		_ = out.Close()
	}
	s.endStdin()
	s.file.close()
}
