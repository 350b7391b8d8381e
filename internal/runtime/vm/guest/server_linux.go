package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	eventsapi "github.com/containerd/containerd/api/events"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/fifo"
	"github.com/containerd/ttrpc"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/emptypb"

	"mullion.dev/mullion/internal/base/procfile"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// server answers the host's streams.
type server struct {
	log    *slog.Logger
	tasks  taskapi.TTRPCTaskService
	events chan link.Event
}

func newServer(ctx context.Context, log *slog.Logger) (*server, error) {
	s := &server{log: log, events: make(chan link.Event, 64)}
	ctx, end := shutdown.WithShutdown(ctx)
	inner, err := task.NewTaskService(ctx, s, end)
	if err != nil {
		return nil, fmt.Errorf("make the task service: %w", err)
	}
	s.tasks = tasks{inner}
	return s, nil
}

// Publish passes on what the host cannot see for itself.
func (s *server) Publish(_ context.Context, _ string, event events.Event) error {
	if e, ok := event.(*eventsapi.TaskOOM); ok {
		select {
		case s.events <- link.Event{OutOfMemory: e.ContainerID}:
		default: // the host does not listen
		}
	}
	return nil
}

// Close is there because containerd's publishers have it.
func (*server) Close() error { return nil }

// stream does what the host asks on one stream.
func (s *server) stream(ctx context.Context, stream net.Conn) {
	defer stream.Close()
	r, err := link.ReadRequest(stream)
	if err == nil {
		err = s.answer(ctx, stream, r)
	}
	if err != nil {
		s.log.Warn("stream of the host ended", "kind", r.Kind, "error", err)
	}
}

func (s *server) answer(ctx context.Context, stream net.Conn, r link.Request) error {
	switch r.Kind {
	case link.Configure:
		return link.Reply(stream, configure(r.Config))
	case link.Tasks:
		return s.serveTasks(ctx, stream)
	case link.Events:
		return s.sendEvents(stream)
	case link.Input, link.Output:
		return s.copyFIFO(ctx, stream, r)
	case link.Dial:
		conn, err := dial(ctx, r.Port)
		if replyErr := link.Reply(stream, err); err != nil || replyErr != nil {
			return errors.Join(err, replyErr)
		}
		link.Join(stream, conn)
		return nil

	default:
		return link.Reply(stream, fmt.Errorf("unknown kind of stream %q", r.Kind))
	}
}

// serveTasks serves the task API until the stream ends.
func (s *server) serveTasks(ctx context.Context, stream net.Conn) error {
	rpc, err := ttrpc.NewServer()
	if err != nil {
		return errors.Join(err, link.Reply(stream, err))
	}
	taskapi.RegisterTTRPCTaskService(rpc, s.tasks)
	if err := link.Reply(stream, nil); err != nil {
		return err
	}
	l := &listener{conn: stream, closed: make(chan struct{})}
	return rpc.Serve(ctx, l)
}

func (s *server) sendEvents(stream net.Conn) error {
	if err := link.Reply(stream, nil); err != nil {
		return err
	}
	out := json.NewEncoder(stream)
	for e := range s.events {
		if err := out.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

// copyFIFO makes a FIFO and copies between it and the stream. containerd's shim has the other end.
func (s *server) copyFIFO(ctx context.Context, stream net.Conn, r link.Request) error {
	path := filepath.Join(link.FIFOs, filepath.Base(r.Path))
	flags := unix.O_RDONLY
	if r.Kind == link.Input {
		flags = unix.O_WRONLY
	}

	f, err := fifo.OpenFifo(ctx, path, flags|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
	if replyErr := link.Reply(stream, err); err != nil || replyErr != nil {
		return errors.Join(err, replyErr)
	}
	defer os.Remove(path)
	defer f.Close()

	if r.Kind == link.Input {
		_, err = io.Copy(f, stream)
	} else {
		_, err = io.Copy(stream, f)
	}

	return err
}

// listener is a listener of one connection.
type listener struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept returns the connection, and then waits for Close.
func (l *listener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

// Close ends Accept.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns no address.
func (*listener) Addr() net.Addr { return &net.UnixAddr{} }

// tasks is containerd's task service with what differs in a machine.
type tasks struct{ taskapi.TTRPCTaskService }

// Create takes the container's specification from the shared folder: containerd's service wants a bundle of its own.
func (t tasks) Create(ctx context.Context, r *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	bundle := filepath.Join(bundles, filepath.Base(r.GetID()))
	if err := os.Mkdir(bundle, 0o711); err != nil {
		return nil, fmt.Errorf("make bundle: %w", err)
	}

	spec, err := os.ReadFile(filepath.Join(r.GetBundle(), "config.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(bundle, "config.json"), spec, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make bundle: %w", err), os.RemoveAll(bundle))
	}

	r.Bundle = bundle
	created, err := t.TTRPCTaskService.Create(ctx, r)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(bundle))
	}

	return created, nil
}

// Delete removes the bundle too.
func (t tasks) Delete(ctx context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	deleted, err := t.TTRPCTaskService.Delete(ctx, r)
	if err == nil && r.GetExecID() == "" {
		err = os.RemoveAll(filepath.Join(bundles, filepath.Base(r.GetID())))
	}
	return deleted, err
}

// Kill with an exec's id and All kills all that the exec has started: its processes carry its id in their environment,
// because a Windows process is, on Linux, no child of the process that started it.
func (t tasks) Kill(ctx context.Context, r *taskapi.KillRequest) (*emptypb.Empty, error) {
	if r.GetExecID() == "" || !r.GetAll() {
		return t.TTRPCTaskService.Kill(ctx, r)
	}
	pids, err := t.Pids(ctx, &taskapi.PidsRequest{ID: r.GetID()})
	if err != nil {
		return nil, err
	}

	for _, p := range pids.GetProcesses() {
		if _, err := procfile.KillMarked(int(p.GetPid()), link.ExecMarker+r.GetExecID()); err != nil {
			return nil, errgrpc.ToGRPC(err)
		}
	}

	return &emptypb.Empty{}, nil
}

// Checkpoint is not there: a container's files are not the guest's.
func (tasks) Checkpoint(context.Context, *taskapi.CheckpointTaskRequest) (*emptypb.Empty, error) {
	return nil, errgrpc.ToGRPC(fmt.Errorf("checkpoint in a virtual machine: %w", errdefs.ErrNotImplemented))
}

// Shutdown does nothing: the machine ends when the host ends it.
func (tasks) Shutdown(context.Context, *taskapi.ShutdownRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}
