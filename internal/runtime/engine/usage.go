package engine

import (
	"context"
	"fmt"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	eventsapi "github.com/containerd/containerd/api/events"
	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
)

// Usage is what a container uses. Memory is in bytes.
type Usage struct {
	At time.Time
	// CPU is the time used on all processors since the container started.
	CPU time.Duration
	// User and Kernel are the parts of CPU in programs and in the kernel.
	User, Kernel time.Duration
	// WorkingSet is the memory that cannot be taken away without swapping: cgroup usage without inactive file pages, as
	// the kubelet and cAdvisor count it.
	WorkingSet uint64
	// Commit is the memory that nothing but RAM and swap can back: anonymous pages and swap.
	Commit uint64
	// PageFaults is counted since the container started.
	PageFaults uint64
	// Processes are the Linux processes, Wine's own among them.
	Processes uint64
	// Reads and Writes are what went to and from disks since the container started; 0 where the kernel does not count.
	Reads, Writes Transfers
}

// Transfers counts operations of disks, and their bytes.
type Transfers struct{ Count, Bytes uint64 }

// Usage asks the kernel what a running container uses.
func (e *Engine) Usage(ctx context.Context, id string) (Usage, error) {
	r, err := e.client.TaskService().Metrics(e.with(ctx), &tasksapi.MetricsRequest{Filters: []string{"id==" + id}})
	if err != nil {
		return Usage{}, fmt.Errorf("ask for metrics of container %q: %w", id, errgrpc.ToNative(err))
	}

	for _, m := range r.Metrics {
		if m.ID != id {
			continue
		}
		data, err := typeurl.UnmarshalAny(m.Data)
		if err != nil {
			return Usage{}, fmt.Errorf("decode metrics of container %q: %w", id, err)
		}
		u, err := usageOf(data)
		u.At = m.Timestamp.AsTime()

		return u, err
	}

	return Usage{}, fmt.Errorf("ask for metrics of container %q: it does not run", id)
}

// usageOf reads the metrics of either cgroup version.
func usageOf(data any) (Usage, error) {
	switch m := data.(type) {
	case *cgroup1.Metrics:
		mem := m.GetMemory()
		return Usage{
			CPU:        time.Duration(m.GetCPU().GetUsage().GetTotal()),
			User:       time.Duration(m.GetCPU().GetUsage().GetUser()),
			Kernel:     time.Duration(m.GetCPU().GetUsage().GetKernel()),
			WorkingSet: sub(mem.GetUsage().GetUsage(), mem.GetTotalInactiveFile()),
			Commit:     mem.GetTotalRSS() + sub(mem.GetSwap().GetUsage(), mem.GetUsage().GetUsage()),
			PageFaults: mem.GetTotalPgFault(),
			Processes:  m.GetPids().GetCurrent(),
			Reads:      transfers1(m.GetBlkio(), "Read"),
			Writes:     transfers1(m.GetBlkio(), "Write"),
		}, nil

	case *cgroup2.Metrics:
		mem := m.GetMemory()
		return Usage{
			CPU:        time.Duration(m.GetCPU().GetUsageUsec()) * time.Microsecond,
			User:       time.Duration(m.GetCPU().GetUserUsec()) * time.Microsecond,
			Kernel:     time.Duration(m.GetCPU().GetSystemUsec()) * time.Microsecond,
			WorkingSet: sub(mem.GetUsage(), mem.GetInactiveFile()),
			Commit:     mem.GetAnon() + mem.GetSwapUsage(),
			PageFaults: mem.GetPgfault(),
			Processes:  m.GetPids().GetCurrent(),
			Reads:      transfers2(m.GetIo(), (*cgroup2.IOEntry).GetRios, (*cgroup2.IOEntry).GetRbytes),
			Writes:     transfers2(m.GetIo(), (*cgroup2.IOEntry).GetWios, (*cgroup2.IOEntry).GetWbytes),
		}, nil

	default:
		return Usage{}, fmt.Errorf("decode metrics: unknown type %T", data)
	}
}

// transfers1 adds up an operation of all devices; "Read" and "Write" are cgroup v1's names.
func transfers1(io *cgroup1.BlkIOStat, operation string) (t Transfers) {
	for _, e := range io.GetIoServicedRecursive() {
		if e.GetOp() == operation {
			t.Count += e.GetValue()
		}
	}
	for _, e := range io.GetIoServiceBytesRecursive() {
		if e.GetOp() == operation {
			t.Bytes += e.GetValue()
		}
	}
	return t
}

func transfers2(io *cgroup2.IOStat, count, bytes func(*cgroup2.IOEntry) uint64) (t Transfers) {
	for _, e := range io.GetUsage() {
		t.Count += count(e)
		t.Bytes += bytes(e)
	}
	return t
}

func sub(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

// OutOfMemory calls seen with the id of each container in which the kernel kills a process because the container's
// memory limit is reached, until ctx ends. It outlasts a restart of containerd.
func (e *Engine) OutOfMemory(ctx context.Context, seen func(id string)) {
	ctx = e.with(ctx)
	for ctx.Err() == nil {
		events, errs := e.client.EventService().Subscribe(ctx, `topic=="/tasks/oom",namespace==`+e.opts.Namespace)
		e.forwardOutOfMemory(events, errs, seen)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (e *Engine) forwardOutOfMemory(events <-chan *events.Envelope, errs <-chan error, seen func(id string)) {
	for {
		select {
		case envelope := <-events:
			data, err := typeurl.UnmarshalAny(envelope.Event)
			if err != nil {
				e.opts.Log.Warn("event of containerd not understood", "error", err)
				continue
			}
			if oom, ok := data.(*eventsapi.TaskOOM); ok {
				seen(oom.ContainerID)
			}

		case err := <-errs:
			if err != nil {
				e.opts.Log.Debug("events of containerd interrupted", "error", err)
			}
			return
		}
	}
}
