package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// NewKeeper returns a client of the keeper of streams of the server whose RunDir is given. argv starts one.
func NewKeeper(runDir string, argv []string) *stream.Client {
	socket := filepath.Join(runDir, "keeper.sock")
	return stream.NewClient(socket, func(context.Context) error { return startKeeper(argv, socket) })
}

// startKeeper starts the keeper of streams so that it outlives this process and no signal to this one's group reaches
// it. Its errors go to a file, since it says there alone why it does not start, or of what it died.
func startKeeper(argv []string, socket string) error {
	if len(argv) == 0 {
		return errors.New("no command line for the keeper is configured")
	}
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], socket)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	errs, err := os.OpenFile(errorsOfKeeper(socket), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make the file of the keeper's errors: %w", err)
	}

	defer errs.Close()
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // Reaps it, should it end before this process.
	return nil
}

// keeperSocket returns where the keeper of the node's streams listens.
func (s *Server) keeperSocket() string { return filepath.Join(s.cfg.RunDir, "keeper.sock") }

// errorsOfKeeper returns the file of the errors of the keeper on a socket.
func errorsOfKeeper(socket string) string { return socket + ".errors" }

// mostKeeperErrors bounds what is read of them: why a program of Go ends is at their beginning, before its stacks.
const mostKeeperErrors = 1 << 10

// keeperErrors returns what a keeper that has ended, or not started, said at last; "" if nothing.
func keeperErrors(socket string) string {
	f, err := os.Open(errorsOfKeeper(socket))
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostKeeperErrors))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
}

// tellOfStreams logs what the keeper has to say, with the pod of the container.
func (s *Server) tellOfStreams(ctx context.Context, m stream.Message) {
	of := subject{container: m.Container}
	s.findPod(&of)
	attrs := of.attrs()
	for _, a := range []struct{ key, value string }{{"stream", m.Stream}, {"error", m.Error}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	if m.Times > 0 {
		attrs = append(attrs, slog.Int("times", m.Times))
	}
	s.log.LogAttrs(ctx, m.Level, m.Text, append(attrs, slog.Time("at", m.Time))...) //nolint:sloglint // the keeper's words
}

// keeperBackoff is the least time between two keepers.
const keeperBackoff = 100 * time.Millisecond

// superviseKeeper starts another keeper whenever the current one ends, until ctx ends. Without a keeper, a container
// stands still as soon as it has filled its FIFO.
func (s *Server) superviseKeeper(ctx context.Context) {
	for {
		tell := func(m stream.Message) { s.tellOfStreams(ctx, m) }
		if ended, err := s.keeper.Watch(ctx, tell); err == nil {
			<-ended
		}
		if ctx.Err() != nil {
			return
		}

		s.log.Warn("keeper of streams has ended, another takes over", "said", keeperErrors(s.keeperSocket()))
		if err := s.ensureKeeper(ctx); err != nil {
			s.log.Error("keeper of streams not started", "error", err, "said", keeperErrors(s.keeperSocket()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(keeperBackoff):
		}
	}
}

// ensureKeeper returns when a keeper answers. One that had to be started takes over the streams of all containers.
func (s *Server) ensureKeeper(ctx context.Context) error {
	started, err := s.keeper.Ensure(ctx)
	if err != nil || !started {
		return err
	}
	for _, c := range s.containers.List(nil) {
		s.takeOverStreams(ctx, c)
	}
	return nil
}

// takeOverStreams makes a new keeper go on reading a container's streams. The FIFOs exist from before the container's
// start until its end is recorded.
func (s *Server) takeOverStreams(ctx context.Context, c store.Container) {
	streams := s.streamsOf(c)
	if _, err := os.Stat(streams.Stdout); err != nil {
		return
	}
	if err := s.keeper.Open(ctx, streams); err != nil {
		s.log.Error("streams of container not taken over", "container", c.ID, "error", err)
		return
	}
	// The container may have ended meanwhile.
	if now, err := s.containers.Get(c.ID); err != nil || now.State() == runtimeapi.ContainerState_CONTAINER_EXITED {
		s.closeStreams(ctx, c)
	}
}

// streamsOf returns the FIFOs of a container's streams.
func (s *Server) streamsOf(c store.Container) stream.Streams {
	fifo := func(name string) string { return filepath.Join(s.fifoDir(), c.ID[:16]+"-"+name) }
	streams := stream.Streams{
		ID:      c.ID,
		Stdout:  fifo("stdout"),
		LogPath: c.LogPath,
	}
	if !c.Config.GetTty() {
		streams.Stderr = fifo("stderr") // a terminal has one output
	}
	if c.Config.GetStdin() {
		streams.Stdin = fifo("stdin")
	}
	return streams
}

// closeStreams takes an ended container's streams from the keeper and removes their FIFOs.
func (s *Server) closeStreams(ctx context.Context, c store.Container) {
	if err := s.keeper.Forget(ctx, c.ID); err != nil {
		s.log.Debug("streams not closed", "container", c.ID, "error", err)
	}
	if err := s.removeFIFOs(c); err != nil {
		s.log.Debug("streams not removed", "container", c.ID, "error", err)
	}
}

// removeFIFOs removes the FIFOs of a container's streams; those that are not there are no error.
func (s *Server) removeFIFOs(c store.Container) error {
	streams := s.streamsOf(c)
	var errs []error
	for _, fifo := range []string{streams.Stdin, streams.Stdout, streams.Stderr} {
		if fifo == "" {
			continue
		}
		if err := os.Remove(fifo); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
