package shim

import (
	"context"
	"errors"
	"fmt"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/runtime"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/log"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/anypb"

	"mullion.dev/mullion/internal/runtime/vm"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// Create boots the machine, or makes a container in it.
func (s *service) Create(ctx context.Context, r *taskapi.CreateTaskRequest) (*taskapi.CreateTaskResponse, error) {
	spec, id, err := readSpec(r.GetBundle())
	if err != nil {
		return nil, errgrpc.ToGRPC(err)
	}
	if id == r.GetID() {
		return s.createMachine(ctx, id, spec)
	}

	m, err := s.running()
	if err != nil {
		return nil, err
	}
	if err := s.createContainer(ctx, m, r); err != nil {
		return nil, err
	}
	return &taskapi.CreateTaskResponse{Pid: uint32(m.qemu.PID())}, nil
}

func (s *service) createMachine(ctx context.Context, id string, spec vm.Spec) (*taskapi.CreateTaskResponse, error) {
	m, err := boot(ctx, id, spec)
	if err != nil {
		return nil, errgrpc.ToGRPC(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.machine != nil {
		return nil, errgrpc.ToGRPC(errors.Join(fmt.Errorf("the machine is there: %w", errdefs.ErrAlreadyExists), m.remove()))
	}
	s.machine = m
	namespace, _ := namespaces.Namespace(ctx)
	go s.forwardEvents(namespaces.WithNamespace(context.WithoutCancel(ctx), namespace), m)
	return &taskapi.CreateTaskResponse{Pid: uint32(m.qemu.PID())}, nil
}

// forwardEvents tells containerd what the guest tells of its containers.
func (s *service) forwardEvents(ctx context.Context, m *machine) {
	stream, err := m.host.Open(link.Request{Kind: link.Events})
	told := pauses{}
	if err == nil {
		err = link.ReadEvents(stream, func(e link.Event) {
			if _, err := s.container(e.OutOfMemory); err != nil || !told.over(e.OutOfMemory, time.Now()) {
				return // no container of this machine, or told already
			}
			event := &eventsapi.TaskOOM{ContainerID: e.OutOfMemory}
			if err := s.publisher.Publish(ctx, runtime.TaskOOMEventTopic, event); err != nil {
				log.G(ctx).WithError(err).Warn("event of the guest not passed on")
			}
		})
	}

	if err != nil && m.ended().IsZero() {
		log.G(ctx).WithError(err).Warn("events of the guest are not read any more")
	}
}

func (s *service) createContainer(ctx context.Context, m *machine, r *taskapi.CreateTaskRequest) (err error) {
	if err := share(m.spec, r.GetID(), r.GetBundle(), r.GetRootfs()); err != nil {
		return errgrpc.ToGRPC(err)
	}

	c := &container{
		bundle:    r.GetBundle(),
		processes: map[string]*streams{},
		terminal:  map[string]bool{},
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, removeShared(m.spec, r.GetID()))
		}
	}()

	streams, err := connect(context.WithoutCancel(ctx), m, r)
	if err != nil {
		return errgrpc.ToGRPC(fmt.Errorf("connect the streams of container %q: %w", r.GetID(), err))
	}

	c.processes[""], c.terminal[""] = streams, r.GetTerminal()
	inGuest, err := guestOptions(r.GetOptions())
	if err != nil {
		streams.close()
		return errgrpc.ToGRPC(err)
	}

	_, err = forward(ctx, m, m.tasks.Create, &taskapi.CreateTaskRequest{
		ID: r.GetID(), Bundle: link.SharedAt + "/" + r.GetID(), Terminal: r.GetTerminal(),
		Stdin: streams.stdin, Stdout: streams.stdout, Stderr: streams.stderr, Options: inGuest,
	})
	if err != nil {
		streams.close()
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.containers[r.GetID()] = c
	return nil
}

// guestOptions returns the options of containerd's shim for runc with the guest's paths.
func guestOptions(hosts *anypb.Any) (*anypb.Any, error) {
	o := &options.Options{}
	if hosts != nil {
		v, err := typeurl.UnmarshalAny(hosts)
		if err != nil {
			return nil, fmt.Errorf("decode options: %w", err)
		}
		given, ok := v.(*options.Options)
		if !ok {
			return nil, fmt.Errorf("decode options: unknown type %T: %w", v, errdefs.ErrInvalidArgument)
		}
		o.IoUid, o.IoGid = given.GetIoUid(), given.GetIoGid()
	}

	o.BinaryName, o.Root = vm.GuestRunc, "/run/runc"
	encoded, err := typeurl.MarshalAnyToProto(o)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}

	return encoded, nil
}
