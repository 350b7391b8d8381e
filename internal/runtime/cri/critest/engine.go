package critest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/sam"
)

var _ cri.Engine = (*Engine)(nil)

// Engine is a fake of *engine.Engine.
type Engine struct {
	// OnStart is what PID 1 of a container does first; nil: it reports that its program runs. Set it before the start.
	OnStart func(id string, p *Process) error
	// OnExec runs a program in a container and returns its Windows exit code; nil: it returns 0 at once. Programs that
	// deliver a control event are not passed to it.
	OnExec func(ctx context.Context, p Program) (uint32, error)
	// Accounts are those that every image adds.
	Accounts []sam.Account

	calls *Calls
	dir   string

	mu         sync.Mutex
	containers map[string]*container
	usage      map[string]engine.Usage
	sizes      map[string][2]uint16
	outOfMem   map[int]func(string)
	unread     map[string]int64
	listeners  int
	lifted     []string
}

// container is what containerd stores for a container: its record, and a task once it has been started.
type container struct {
	engine.Container
	task *Process
}

// NewEngine returns an engine without containers. It records its calls in calls; dir is where it would mount the views
// of HostProcess containers.
func NewEngine(calls *Calls, dir string) *Engine {
	return &Engine{
		calls:      calls,
		dir:        dir,
		containers: map[string]*container{},
		usage:      map[string]engine.Usage{},
		sizes:      map[string][2]uint16{},
		outOfMem:   map[int]func(string){},
		unread:     map[string]int64{},
	}
}

// Create makes a container.
func (e *Engine) Create(_ context.Context, c engine.Container) error {
	return e.calls.do("Engine.Create", "", c.ID, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, there := e.containers[c.ID]; there {
			return fmt.Errorf("create container %q: %w", c.ID, errdefs.ErrAlreadyExists)
		}
		c.Labels = maps.Clone(c.Labels)
		e.containers[c.ID] = &container{Container: c}
		return nil
	})
}

// Account finds one of Accounts.
func (e *Engine) Account(_ context.Context, id, _, name string) (a sam.Account, ok bool, err error) {
	return a, ok, e.calls.do("Engine.Account", name, id, func() error {
		for _, of := range e.Accounts {
			if strings.EqualFold(of.Name, name) {
				a, ok = of, true
			}
		}
		return nil
	})
}

// Start starts a container's process.
func (e *Engine) Start(_ context.Context, id string, stdio engine.IO) (pid uint32, err error) {
	return 4711, e.calls.do("Engine.Start", "", id, func() error {
		p, err := e.startTask(id, stdio)
		if err != nil {
			return err
		}
		if e.OnStart != nil {
			return e.OnStart(id, p)
		}
		return p.Started()
	})
}

func (e *Engine) startTask(id string, stdio engine.IO) (*Process, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, there := e.containers[id]
	if !there {
		return nil, fmt.Errorf("create task of container %q: %w", id, errdefs.ErrNotFound)
	}
	if c.task != nil {
		return nil, fmt.Errorf("create task of container %q: %w", id, errdefs.ErrAlreadyExists)
	}

	p, err := newProcess(c.Container, stdio)
	if err != nil {
		return nil, err
	}
	c.task = p
	return p, nil
}

// Lift notes that a pod was lifted, or not any more: a program of the tests has all that it wants.
func (e *Engine) Lift(pod string, up bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if up {
		e.lifted = append(e.lifted, pod)
	} else {
		e.lifted = slices.DeleteFunc(e.lifted, func(other string) bool { return other == pod })
	}
	return nil
}

// Lifted returns the pods that go ahead of others.
func (e *Engine) Lifted() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lifted)
}

// Used is no time: such a program needs none.
func (e *Engine) Used(string) (time.Duration, error) { return 0, nil }

// Signal ends a container's process: SIGKILL, SIGTERM unless the process is Stubborn; other
// signals do nothing, and none does to an Immortal one. A container that does not run is no error.
func (e *Engine) Signal(_ context.Context, id string, signal unix.Signal, all bool) error {
	detail := signal.String()
	if all {
		detail += " all"
	}
	return e.calls.do("Engine.Signal", detail, id, func() error {
		p := e.Process(id)
		switch {
		case p == nil || p.Immortal:
		case signal == unix.SIGKILL:
			p.End(exitKilled)
		case signal == unix.SIGTERM && !p.Stubborn:
			p.End(exitTerminated)
		}

		return nil
	})
}

// Remove kills and removes a container, and kills what is in it if it is a machine; one that is gone is no error.
func (e *Engine) Remove(_ context.Context, id string) error {
	return e.calls.do("Engine.Remove", "", id, func() error {
		if p := e.Process(id); p != nil {
			p.End(exitKilled)
		}
		e.mu.Lock()
		defer e.mu.Unlock()

		for _, c := range e.containers {
			if c.Kind == (engine.InMachine{ID: id}) && c.task != nil {
				c.task.End(exitKilled)
			}
		}

		delete(e.containers, id)
		return nil
	})
}

// RemovePod returns an error while a container of the pod runs, as the kernel does for a cgroup with processes.
func (e *Engine) RemovePod(pod string) error {
	return e.calls.do("Engine.RemovePod", "", pod, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		for id, c := range e.containers {
			if c.Pod == pod && c.task != nil && c.task.running() {
				return fmt.Errorf("remove pod %q: container %q runs", pod, id)
			}
		}
		return nil
	})
}

// List returns the containers with a label, by their ids.
func (e *Engine) List(_ context.Context, label, value string) ([]engine.Info, error) {
	var out []engine.Info
	err := e.calls.do("Engine.List", "", value, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()

		for _, id := range slices.Sorted(maps.Keys(e.containers)) {
			c := e.containers[id]
			if c.Labels[label] != value {
				continue
			}

			info := engine.Info{
				ID:     id,
				Labels: maps.Clone(c.Labels),
				State:  engine.Created,
			}

			switch {
			case c.task != nil && c.task.running():
				info.State = engine.Running
			case c.task != nil:
				info.State = engine.Exited
			}

			out = append(out, info)
		}

		return nil
	})

	return out, err
}

// Wait returns when a container's process ends.
func (e *Engine) Wait(ctx context.Context, id string) (exit engine.Exit, err error) {
	err = e.calls.do("Engine.Wait", "", id, func() error {
		p := e.Process(id)
		if p == nil {
			return fmt.Errorf("wait for end of container %q: %w", id, errdefs.ErrNotFound)
		}

		select {
		case <-p.ended:
			exit = p.exit
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for end of container %q: %w", id, ctx.Err())
		}
	})

	return exit, err
}

// Exec runs a program in a container that runs.
func (e *Engine) Exec(ctx context.Context, id string, x engine.ExecSpec) (exit engine.Exit, err error) {
	if x.Over != nil {
		defer x.Over(0)
	}
	err = e.calls.do("Engine.Exec", "", id, func() error {
		c, running := e.Container(id)
		if !running {
			return fmt.Errorf("start program in container %q: %w", id, errdefs.ErrNotFound)
		}
		code, err := e.exec(ctx, c, x)
		exit = engine.Exit{Code: code & 0xff, At: time.Now()}
		return err
	})
	return exit, err
}

// exec runs a program and returns its Windows exit code.
func (e *Engine) exec(ctx context.Context, c engine.Container, x engine.ExecSpec) (uint32, error) {
	if argument(x.Args, "--ctrl") == "shutdown" {
		return 0, e.shutDown(c, x)
	}

	if e.OnExec == nil {
		return 0, nil
	}

	report := machinePath(c, argument(x.Args, "--report"))
	code, err := e.OnExec(ctx, Program{
		Container: c.ID,
		Args:      programOf(x.Args),
		Stdin:     x.Stdin,
		Stdout:    x.Stdout,
		Stderr:    x.Stderr,
		Resize:    x.Resize,
		report:    report,
	})
	if err != nil {
		return 0, fmt.Errorf("wait for program in container %q: %w", c.ID, err)
	}

	if said, err := os.ReadFile(report); err == nil && strings.HasPrefix(string(said), "failed") {
		return code, nil // Windows would not start the program.
	}
	return code, writeReport(report, fmt.Sprintf("exited %d\n", code))
}

// shutDown ends a container's program by a control event, unless it is stubborn.
func (e *Engine) shutDown(c engine.Container, x engine.ExecSpec) error {
	p := e.Process(c.ID)
	if argument(x.Args, "--pid") != strconv.Itoa(startedPID) {
		return fmt.Errorf("control event for another than the container's program: %q", x.Args)
	}
	if p.Stubborn {
		return nil
	}

	if p.Leaves != "" {
		if err := writeReport(p.report, "left "+p.Leaves+"\n"); err != nil {
			return err
		}
	}

	return p.Exit(statusControlC)
}

// statusControlC is how Windows ends a program that does not handle a control event
// (STATUS_CONTROL_C_EXIT, https://learn.microsoft.com/openspecs/windows_protocols/ms-erref).
const statusControlC = 0xc000013a

// Update changes a container's limits.
func (e *Engine) Update(_ context.Context, id string, r engine.Resources) error {
	return e.calls.do("Engine.Update", "", id, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if c := e.containers[id]; c != nil {
			c.Resources = r
		}
		return nil
	})
}

// CloseStdin closes the shim's own end of a container's input.
func (e *Engine) CloseStdin(_ context.Context, id string) error {
	return e.calls.do("Engine.CloseStdin", "", id, func() error {
		if p := e.Process(id); p != nil && p.ownEnd != nil {
			_ = p.ownEnd.Close()
		}
		return nil
	})
}

// Resize remembers the size of a container's terminal.
func (e *Engine) Resize(_ context.Context, id string, width, height uint16) error {
	return e.calls.do("Engine.Resize", "", id, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sizes[id] = [2]uint16{width, height}
		return nil
	})
}

// Version answers as containerd does while it is there.
func (e *Engine) Version(context.Context) (version string, err error) {
	return "v2.0.0", e.calls.do("Engine.Version", "", "", func() error { return nil })
}

// Usage returns what SetUsage has set.
func (e *Engine) Usage(_ context.Context, id string) (usage engine.Usage, err error) {
	err = e.calls.do("Engine.Usage", "", id, func() error {
		if _, running := e.Container(id); !running {
			return fmt.Errorf("ask for metrics of container %q: it does not run", id)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		usage = e.usage[id]
		return nil
	})
	return usage, err
}

// DiskUsage is the same for every container.
func (e *Engine) DiskUsage(_ context.Context, id string) (bytes, inodes uint64, err error) {
	return diskBytes, diskInodes, e.calls.do("Engine.DiskUsage", "", id, func() error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.containers[id] == nil {
			return fmt.Errorf("ask for size of container %q: %w", id, errdefs.ErrNotFound)
		}
		return nil
	})
}

const (
	diskBytes  = 4096
	diskInodes = 2
)

// OutOfMemory makes RunOutOfMemory call seen, until ctx ends.
func (e *Engine) OutOfMemory(ctx context.Context, seen func(id string)) {
	e.mu.Lock()
	e.listeners++
	key := e.listeners
	e.outOfMem[key] = seen
	e.mu.Unlock()
	<-ctx.Done()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.outOfMem, key)
}

// Unread returns what SetUnread has set.
func (e *Engine) Unread(netns string, _ int64) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unread[netns], nil
}

// View returns a folder in the engine's own folder.
func (e *Engine) View(id string) string { return filepath.Join(e.dir, "views", id) }
