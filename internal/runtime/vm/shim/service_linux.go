package shim

import (
	"context"
	"fmt"
	"os"
	"sync"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// service is the task API of one machine and its containers.
type service struct {
	publisher shim.Publisher
	shutdown  shutdown.Service

	mu      sync.Mutex
	machine *machine
	// deleted says that the machine is gone for containerd. Its containers may have to be deleted yet.
	deleted    bool
	containers map[string]*container
}

// container is a container in the machine.
type container struct {
	bundle string
	// processes are the streams of the container's first process, "", and of its execs.
	processes map[string]*streams
	terminal  map[string]bool
}

func newService(_ context.Context, publisher shim.Publisher, end shutdown.Service) *service {
	s := &service{
		publisher:  publisher,
		shutdown:   end,
		containers: map[string]*container{},
	}

	end.RegisterCallback(func(context.Context) error {
		if m, err := s.running(); err == nil {
			return m.remove()
		}
		return nil
	})
	return s
}

// RegisterTTRPC registers the service.
func (s *service) RegisterTTRPC(server *ttrpc.Server) error {
	taskapi.RegisterTTRPCTaskService(server, s)
	return nil
}

// running returns the machine, which may have ended.
func (s *service) running() (*machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine == nil {
		return nil, errgrpc.ToGRPC(fmt.Errorf("the machine is not there: %w", errdefs.ErrNotFound))
	}
	return s.machine, nil
}

// isMachine reports whether an id is the machine's own.
func (s *service) isMachine(id string) bool {
	m, err := s.running()
	return err == nil && m.id == id
}

// container returns a container of the machine.
func (s *service) container(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[id]
	if c == nil {
		return nil, errgrpc.ToGRPC(fmt.Errorf("container %q is not there: %w", id, errdefs.ErrNotFound))
	}
	return c, nil
}

// find returns the machine and a container in it.
func (s *service) find(id string) (*machine, *container, error) {
	m, err := s.running()
	if err != nil {
		return nil, nil, err
	}
	c, err := s.container(id)
	return m, c, err
}

// streams returns those of a process, nil if there are none.
func (s *service) streams(id, exec string) *streams {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.containers[id]; c != nil {
		return c.processes[exec]
	}
	return nil
}

// Start starts a process. The machine itself runs since it was made.
func (s *service) Start(ctx context.Context, r *taskapi.StartRequest) (*taskapi.StartResponse, error) {
	if !s.isMachine(r.GetID()) {
		m, _, err := s.find(r.GetID())
		if err != nil {
			return nil, err
		}
		if _, err := forward(ctx, m, m.tasks.Start, r); err != nil {
			return nil, err
		}
	}

	m, err := s.running()
	if err != nil {
		return nil, err
	}
	return &taskapi.StartResponse{Pid: uint32(m.qemu.PID())}, nil
}

// Exec adds a process to a container.
func (s *service) Exec(ctx context.Context, r *taskapi.ExecProcessRequest) (*emptypb.Empty, error) {
	m, c, err := s.find(r.GetID())
	if err != nil {
		return nil, err
	}
	streams, err := connect(context.WithoutCancel(ctx), m, r)
	if err != nil {
		return nil, errgrpc.ToGRPC(fmt.Errorf("connect the streams of a process in container %q: %w", r.GetID(), err))
	}

	_, err = forward(ctx, m, m.tasks.Exec, &taskapi.ExecProcessRequest{
		ID: r.GetID(), ExecID: r.GetExecID(), Terminal: r.GetTerminal(), Spec: r.GetSpec(),
		Stdin: streams.stdin, Stdout: streams.stdout, Stderr: streams.stderr,
	})
	if err != nil {
		streams.close()
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	c.processes[r.GetExecID()], c.terminal[r.GetExecID()] = streams, r.GetTerminal()
	return &emptypb.Empty{}, nil
}

// Delete removes an ended process. If it is the machine itself, everything of the machine goes.
func (s *service) Delete(ctx context.Context, r *taskapi.DeleteRequest) (*taskapi.DeleteResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}

	out := &taskapi.DeleteResponse{Pid: uint32(m.qemu.PID()), ExitStatus: killed}
	if m.id == r.GetID() {
		if err := m.remove(); err != nil {
			return nil, errgrpc.ToGRPC(err)
		}
		out.ExitedAt = timestamppb.New(m.ended())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.deleted = true
		return out, nil
	}

	c, err := s.container(r.GetID())
	if err != nil {
		return nil, err
	}

	deleted, err := forward(ctx, m, m.tasks.Delete, r)
	switch at := m.ended(); {
	case err == nil:
		out.ExitStatus, out.ExitedAt = deleted.GetExitStatus(), m.within(deleted.GetExitedAt())
	case at.IsZero():
		return nil, err
	default: // it ended with its machine
		out.ExitedAt = timestamppb.New(at)
	}

	if streams := s.streams(r.GetID(), r.GetExecID()); streams != nil {
		streams.end()
	}

	if r.GetExecID() == "" {
		if err := removeShared(m.spec, r.GetID()); err != nil {
			return nil, errgrpc.ToGRPC(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(c.processes, r.GetExecID())
	if r.GetExecID() == "" {
		delete(s.containers, r.GetID())
	}

	return out, nil
}

// State says how a process fares.
func (s *service) State(ctx context.Context, r *taskapi.StateRequest) (*taskapi.StateResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}
	out := &taskapi.StateResponse{
		ID:     r.GetID(),
		Pid:    uint32(m.qemu.PID()),
		Status: task.Status_RUNNING,
	}

	if m.id != r.GetID() {
		c, err := s.container(r.GetID())
		if err != nil {
			return nil, err
		}
		out.Bundle, out.ExecID = c.bundle, r.GetExecID()
		s.mu.Lock()
		out.Terminal = c.terminal[r.GetExecID()]
		s.mu.Unlock()

		state, err := forward(ctx, m, m.tasks.State, r)
		if err != nil && m.ended().IsZero() {
			return nil, err
		}
		if err == nil {
			out.Status, out.ExitStatus = state.GetStatus(), state.GetExitStatus()
			out.ExitedAt = m.within(state.GetExitedAt()) // of a process that has ended
			return out, nil
		}
	}

	if at := m.ended(); !at.IsZero() {
		out.Status = task.Status_STOPPED
		out.ExitStatus = killed
		out.ExitedAt = timestamppb.New(at)
	}

	return out, nil
}

// Wait returns when a process ends, at the latest with its machine.
func (s *service) Wait(ctx context.Context, r *taskapi.WaitRequest) (*taskapi.WaitResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}

	if m.id == r.GetID() {
		select {
		case <-m.qemu.Ended:
		case <-ctx.Done():
			return nil, errgrpc.ToGRPC(ctx.Err())
		}
	} else {
		if _, err := s.container(r.GetID()); err != nil {
			return nil, err
		}
		ended, err := m.tasks.Wait(ctx, r)
		if err == nil {
			at := m.within(ended.GetExitedAt())
			return &taskapi.WaitResponse{ExitStatus: ended.GetExitStatus(), ExitedAt: at}, nil
		}

		if !m.endsSoon(ctx) {
			return nil, bounded(err)
		}
	}

	return &taskapi.WaitResponse{ExitStatus: killed, ExitedAt: timestamppb.New(m.ended())}, nil
}

// Kill sends a signal to a process. The machine takes every signal for the end.
func (s *service) Kill(ctx context.Context, r *taskapi.KillRequest) (*emptypb.Empty, error) {
	if s.isMachine(r.GetID()) {
		m, err := s.running()
		if err == nil {
			m.qemu.Kill()
		}
		return &emptypb.Empty{}, err
	}
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.Kill)
}

// Pids has QEMU alone: the guest's processes have no ids on the machine.
func (s *service) Pids(context.Context, *taskapi.PidsRequest) (*taskapi.PidsResponse, error) {
	m, err := s.running()
	if err != nil {
		return nil, err
	}
	return &taskapi.PidsResponse{Processes: []*task.ProcessInfo{{Pid: uint32(m.qemu.PID())}}}, nil
}

// Pause stops a container's processes.
func (s *service) Pause(ctx context.Context, r *taskapi.PauseRequest) (*emptypb.Empty, error) {
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.Pause)
}

// Resume lets them go on.
func (s *service) Resume(ctx context.Context, r *taskapi.ResumeRequest) (*emptypb.Empty, error) {
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.Resume)
}

// Checkpoint is not there.
func (*service) Checkpoint(context.Context, *taskapi.CheckpointTaskRequest) (*emptypb.Empty, error) {
	return nil, errgrpc.ToGRPC(fmt.Errorf("checkpoint in a virtual machine: %w", errdefs.ErrNotImplemented))
}

// ResizePty sets the size of a terminal.
func (s *service) ResizePty(ctx context.Context, r *taskapi.ResizePtyRequest) (*emptypb.Empty, error) {
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.ResizePty)
}

// CloseIO lets a process' input end.
func (s *service) CloseIO(ctx context.Context, r *taskapi.CloseIORequest) (*emptypb.Empty, error) {
	if streams := s.streams(r.GetID(), r.GetExecID()); streams != nil && r.GetStdin() {
		if err := streams.closeInput(); err != nil {
			return nil, errgrpc.ToGRPC(err)
		}
	}
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.CloseIO)
}

// Update changes the limits of a container.
func (s *service) Update(ctx context.Context, r *taskapi.UpdateTaskRequest) (*emptypb.Empty, error) {
	return toContainer(ctx, s, r, taskapi.TTRPCTaskService.Update)
}

// Connect says who serves and what runs.
func (s *service) Connect(context.Context, *taskapi.ConnectRequest) (*taskapi.ConnectResponse, error) {
	out := &taskapi.ConnectResponse{ShimPid: uint32(os.Getpid())}
	if m, err := s.running(); err == nil {
		out.TaskPid = uint32(m.qemu.PID())
	}
	return out, nil
}

// Shutdown ends the shim when the machine and its containers are gone.
func (s *service) Shutdown(context.Context, *taskapi.ShutdownRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.machine == nil || s.deleted) && len(s.containers) == 0 {
		s.shutdown.Shutdown()
	}
	return &emptypb.Empty{}, nil
}
