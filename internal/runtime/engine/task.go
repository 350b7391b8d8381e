package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	runcoptions "github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/anypb"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/flow"
	"mullion.dev/mullion/internal/base/procfile"
	"mullion.dev/mullion/internal/runtime/userns"
	"mullion.dev/mullion/internal/runtime/vm/link"
	"mullion.dev/mullion/internal/windows/wine"
)

// UnknownExit is the exit code of a container whose end nobody saw.
const UnknownExit = 255

// Exit is how PID 1 of a container, or a program run in it, ended on Linux.
type Exit struct {
	// Code is 0 to 255, or 128 plus a signal.
	Code uint32
	At   time.Time
}

// Wait returns when PID 1 of a container ends, whether or not it runs yet when Wait is called. It outlasts a restart of
// containerd. The error is errdefs.ErrNotFound if the container has no task.
func (e *Engine) Wait(ctx context.Context, id string) (Exit, error) {
	for {
		r, err := e.client.TaskService().Wait(e.with(ctx), &tasksapi.WaitRequest{ContainerID: id})
		if err == nil {
			return Exit{Code: r.ExitStatus, At: r.ExitedAt.AsTime()}, nil
		}
		err = errgrpc.ToNative(err)
		if ctx.Err() != nil || errdefs.IsNotFound(err) {
			return Exit{}, fmt.Errorf("wait for end of container %q: %w", id, err)
		}

		select { // containerd is away: its shims and the containers are not.
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Signal sends a signal to PID 1 of a container, or with all to each of its processes. A container that runs no more is
// no error.
func (e *Engine) Signal(ctx context.Context, id string, signal unix.Signal, all bool) error {
	ctx = e.with(ctx)
	_, err := e.client.TaskService().Kill(ctx, &tasksapi.KillRequest{
		ContainerID: id,
		Signal:      uint32(signal),
		All:         all,
	})
	err = errgrpc.ToNative(err)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err == nil && all && signal == unix.SIGKILL {
		err = e.unbind(ctx, id) // now, as a program that can start no other may end before it is killed
	}
	if err != nil {
		return fmt.Errorf("send %v to container %q: %w", signal, id, err)
	}
	return nil
}

// unbind takes from a container that was killed what can keep its processes from ending; those that were started since
// end with the first, and start no others. runc would change limits only while the first process lives, and that may
// end long before the others. A container that is gone is no error.
func (e *Engine) unbind(ctx context.Context, id string) error {
	c, err := e.client.LoadContainer(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load container %q: %w", id, err)
	}

	s, err := c.Spec(ctx)
	if err != nil {
		return fmt.Errorf("read specification of container %q: %w", id, err)
	}
	if s.Linux == nil || s.Linux.CgroupsPath == "" {
		return nil
	}
	return cgroup.Unbind(s.Linux.CgroupsPath)
}

// CloseStdin tells the container that no more input will come.
func (e *Engine) CloseStdin(ctx context.Context, id string) error {
	_, err := e.client.TaskService().CloseIO(e.with(ctx), &tasksapi.CloseIORequest{ContainerID: id, Stdin: true})
	if err = errgrpc.ToNative(err); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("close input of container %q: %w", id, err)
	}
	return nil
}

// Resize sets the size of the terminal of PID 1 in characters.
func (e *Engine) Resize(ctx context.Context, id string, width, height uint16) error {
	return e.resize(ctx, id, "", width, height)
}

func (e *Engine) resize(ctx context.Context, id, exec string, width, height uint16) error {
	_, err := e.client.TaskService().ResizePty(e.with(ctx), &tasksapi.ResizePtyRequest{
		ContainerID: id,
		ExecID:      exec,
		Width:       uint32(width),
		Height:      uint32(height),
	})
	if err != nil {
		return fmt.Errorf("resize terminal in container %q: %w", id, errgrpc.ToNative(err))
	}
	return nil
}

// Update changes the limits of a container.
func (e *Engine) Update(ctx context.Context, id string, r Resources) error {
	ctx = e.with(ctx)
	resources := r.cgroup(e.swap)
	encoded, err := typeurl.MarshalAnyToProto(resources)
	if err != nil {
		return fmt.Errorf("encode limits of container %q: %w", id, err)
	}
	_, err = e.client.TaskService().Update(ctx, &tasksapi.UpdateTaskRequest{ContainerID: id, Resources: encoded})
	if err = errgrpc.ToNative(err); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("update limits of container %q: %w", id, err)
	}

	k, err := e.kindIn(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return k.limitsChanged(ctx, id)
}

// ExecSpec is a program to be run in a running container, as its user.
type ExecSpec struct {
	// ID is unique in the container.
	ID   string
	Args []string
	Env  []string
	// Dir is a Linux path in the container.
	Dir string
	// UID is the user in the container.
	UID uint32
	// Stdin may be nil, as may be Stdout and Stderr.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       bool
	// Resize carries the sizes of the terminal, {width, height} in characters. It may be nil.
	Resize <-chan [2]uint16
	// FIFODir is where the streams' FIFOs are made.
	FIFODir string
	// Inside is the working folder of the container, at which its first process may be asked to start the program: that
	// is cheaper. Only Exec looks at it. It may be "".
	Inside string
	// Over is called once when nothing of the program is left to be started or ended, with how many processes of it
	// were ended; that may be long after Exec has returned. It may be nil.
	Over func(ended int)

	taken *flow.Meter // of the outputs
}

// metered returns the program with outputs that are metered.
func (x ExecSpec) metered() ExecSpec {
	x.taken = &flow.Meter{}
	for _, to := range []*io.Writer{&x.Stdout, &x.Stderr} {
		if *to != nil {
			*to = x.taken.Writer(*to)
		}
	}
	return x
}

// over says that the program is over.
func (x ExecSpec) over(ended int) {
	if x.Over != nil {
		x.Over(ended)
	}
}

// execProcess returns a program in a container as runc takes it. It has the limits that the container's first process
// has: runc sets none of its own accord, and whoever makes a pod can have programs run so, by a probe.
func (*Engine) execProcess(k kind, x ExecSpec) *specs.Process {
	return &specs.Process{
		Terminal:        x.Terminal,
		User:            k.user(x.UID),
		Args:            x.Args,
		Env:             append(wine.LaterEnv(x.Env), link.ExecMarker+x.ID),
		Cwd:             x.Dir,
		Capabilities:    k.capabilities(),
		NoNewPrivileges: true,
		Rlimits:         userns.Rlimits(mostTasks),
	}
}

// encodeExec returns a program in a container as containerd takes it.
func (e *Engine) encodeExec(ctx context.Context, id string, x ExecSpec) (*anypb.Any, error) {
	k, err := e.kindIn(ctx, id)
	if err != nil {
		return nil, err
	}
	process, err := typeurl.MarshalAnyToProto(e.execProcess(k, x))
	if err != nil {
		return nil, fmt.Errorf("encode program for container %q: %w", id, err)
	}
	return process, nil
}

// Exec runs a program in a container and returns when it has ended and its output has been copied. If ctx ends before,
// the program is killed.
func (e *Engine) Exec(ctx context.Context, id string, x ExecSpec) (Exit, error) {
	ctx = e.with(ctx)
	k, err := e.kindIn(ctx, id)
	if err != nil {
		x.over(0)
		return Exit{}, err
	}
	x = x.metered()
	exit, err := e.execInside(ctx, id, k, x)
	if !errors.Is(err, errNotInside) {
		return exit, err
	}
	e.opts.Log.Debug("containerd starts a program", "container", id, "why", err)
	return e.execByRunc(ctx, id, x)
}

// execByRunc is Exec by containerd and runc.
func (e *Engine) execByRunc(ctx context.Context, id string, x ExecSpec) (Exit, error) {
	if x.Stdin != nil {
		x.Stdin = &eofReader{Reader: x.Stdin, eof: func() { e.closeExecStdin(context.WithoutCancel(ctx), id, x.ID) }}
	}
	stdio, err := e.execIO(x)
	if err != nil {
		x.over(0)
		return Exit{}, fmt.Errorf("make streams of program in container %q: %w", id, err)
	}

	tasks := e.client.TaskService()
	process, err := e.encodeExec(ctx, id, x)
	if err != nil {
		x.over(0)
		return Exit{}, errors.Join(err, stdio.Close())
	}

	cfg := stdio.Config()
	_, err = tasks.Exec(ctx, &tasksapi.ExecProcessRequest{
		ContainerID: id,
		ExecID:      x.ID,
		Spec:        process,
		Stdin:       cfg.Stdin,
		Stdout:      cfg.Stdout,
		Stderr:      cfg.Stderr,
		Terminal:    cfg.Terminal,
	})
	if err != nil {
		stdio.Cancel()
		// When ctx ends, containerd may know of the program all the same.
		go e.endExec(context.WithoutCancel(ctx), id, x, stdio)
		return Exit{}, fmt.Errorf("add program to container %q: %w", id, errgrpc.ToNative(err))
	}

	started := e.startExec(context.WithoutCancel(ctx), id, x.ID)
	select {
	case err = <-started:
	case <-ctx.Done():
		// The program may come up at any time from now on, as on a busy machine: it is ended as soon as it can be.
		go func() {
			<-started //nolint:errcheck // whether or not it came up
			e.endExec(context.WithoutCancel(ctx), id, x, stdio)
		}()
		return Exit{}, fmt.Errorf("start program in container %q: %w", id, ctx.Err())
	}
	if err != nil {
		stdio.Cancel()
		go e.endExec(context.WithoutCancel(ctx), id, x, stdio)
		return Exit{}, fmt.Errorf("start program in container %q: %w", id, errgrpc.ToNative(err))
	}

	exit, err := e.waitExec(ctx, id, x, stdio)
	if err != nil {
		go e.endExec(context.WithoutCancel(ctx), id, x, stdio)
		return Exit{}, err
	}
	x.over(0)

	// In the background, because containerd's shim waits up to ten seconds for the output of programs that the program
	// left running. These go on, as on Windows.
	go func() {
		defer func() { _ = stdio.Close() }() // its streams have been drained
		if err := e.forgetExec(context.WithoutCancel(ctx), id, x.ID); err != nil {
			e.opts.Log.Debug("program not forgotten", "container", id, "error", err)
		}
	}()

	return exit, nil
}

// startExec starts a program that containerd knows. What is told to stop meanwhile cannot undo it, so it has a time of
// its own.
func (e *Engine) startExec(ctx context.Context, id, exec string) <-chan error {
	started := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		defer cancel()
		_, err := e.client.TaskService().Start(ctx, &tasksapi.StartRequest{ContainerID: id, ExecID: exec})
		started <- err
	}()
	return started
}

// startTimeout is how long a program may take to come up, on the busiest machine.
const startTimeout = 2 * time.Minute

// forgetExec lets containerd forget a program that has ended. One that it does not know is no error.
func (e *Engine) forgetExec(ctx context.Context, id, exec string) error {
	_, err := e.client.TaskService().DeleteProcess(ctx, &tasksapi.DeleteProcessRequest{ContainerID: id, ExecID: exec})
	if err = errgrpc.ToNative(err); errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// endExec kills a program with all that it has started, until none of them is left, and lets containerd forget it. A
// program may start others between the look and the blow, so it looks again.
func (e *Engine) endExec(ctx context.Context, id string, x ExecSpec, stdio cio.IO) {
	defer func() { _ = stdio.Close() }() // nobody reads its streams any more
	ended := 0
	defer func() { x.over(ended) }()
	var err error
	for range killRounds {
		left, killErr := e.killExec(ctx, id, x.ID)
		ended = max(ended, left)
		if err = errors.Join(killErr, e.forgetExec(ctx, id, x.ID)); err == nil && left == 0 {
			return
		}
		<-time.After(killPause)
	}
	e.opts.Log.Warn("a program whose time was over has not ended", "container", id, "error", err)
}

const (
	killRounds = 100
	killPause  = 100 * time.Millisecond
)

// killExec kills a program with all that it has started, and returns how many processes these were.
func (e *Engine) killExec(ctx context.Context, id, exec string) (int, error) {
	k, err := e.kindIn(ctx, id)
	if errdefs.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return k.killExec(ctx, id, exec)
}

// killMarked kills the processes of a container with a variable in their environment, and returns how many it found.
func (e *Engine) killMarked(ctx context.Context, id, variable string) (int, error) {
	pids, err := e.client.TaskService().ListPids(ctx, &tasksapi.ListPidsRequest{ContainerID: id})
	if err = errgrpc.ToNative(err); err != nil {
		if errdefs.IsNotFound(err) {
			return 0, nil
		}
		return 0, err
	}

	found := 0
	for _, p := range pids.Processes {
		marked, err := procfile.KillMarked(int(p.Pid), variable)
		if err != nil {
			e.opts.Log.Debug("process not killed", "container", id, "error", err)
		}
		if marked {
			found++
		}
	}

	return found, nil
}

// eofReader calls eof once when the reader has no more.
type eofReader struct {
	io.Reader
	eof  func()
	once sync.Once
}

func (r *eofReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.once.Do(r.eof)
	}
	return n, err
}

// closeExecStdin makes containerd's shim close its own end of a program's input. Until then the program does not see
// the end of its input.
func (e *Engine) closeExecStdin(ctx context.Context, id, exec string) {
	_, err := e.client.TaskService().CloseIO(ctx, &tasksapi.CloseIORequest{
		ContainerID: id,
		ExecID:      exec,
		Stdin:       true,
	})
	if err != nil && !errdefs.IsNotFound(errgrpc.ToNative(err)) {
		e.opts.Log.Debug("input not closed", "container", id, "error", err)
	}
}

// waitExec waits for a started program, passing on terminal sizes. With an error, as when ctx ends, it may still run.
func (e *Engine) waitExec(ctx context.Context, id string, x ExecSpec, stdio cio.IO) (Exit, error) {
	tasks := e.client.TaskService()
	stop := make(chan struct{})
	defer close(stop)

	go e.passSizes(ctx, id, x, stop)
	r, err := tasks.Wait(ctx, &tasksapi.WaitRequest{ContainerID: id, ExecID: x.ID})
	if err != nil {
		stdio.Cancel()
		if ctx.Err() != nil {
			return Exit{}, fmt.Errorf("wait for program in container %q: %w", id, ctx.Err())
		}
		return Exit{}, fmt.Errorf("wait for program in container %q: %w", id, errgrpc.ToNative(err))
	}

	drain(ctx, stdio, x.taken)
	return Exit{Code: r.ExitStatus, At: r.ExitedAt.AsTime()}, nil
}

// drain returns when the output of a program that has ended has been copied.
func drain(ctx context.Context, stdio cio.IO, taken *flow.Meter) {
	drained := make(chan struct{})
	go func() {
		stdio.Wait()
		close(drained)
	}()
	taken.Await(ctx, drained, drainTimeout)
	stdio.Cancel()
}

// drainTimeout is how long the output of an ended program is waited for while its children hold the streams open, and
// nobody is taking what is left. containerd's CRI has a setting for that (drain_exec_sync_io_timeout), by default
// without a limit: kubectl exec would hang.
const drainTimeout = 10 * time.Second

func (e *Engine) passSizes(ctx context.Context, id string, x ExecSpec, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case size, ok := <-x.Resize:
			if !ok {
				return
			}
			if err := e.resize(ctx, id, x.ID, size[0], size[1]); err != nil {
				e.opts.Log.Debug("terminal not resized", "container", id, "error", err)
			}
		}
	}
}

// execIO makes FIFOs and the goroutines that copy between them and the streams.
func (e *Engine) execIO(x ExecSpec) (cio.IO, error) {
	// containerd's shim wants both outputs connected; a terminal has only one.
	if x.Stdout == nil {
		x.Stdout = io.Discard
	}
	if x.Stderr == nil && !x.Terminal {
		x.Stderr = io.Discard
	}
	opts := []cio.Opt{cio.WithStreams(x.Stdin, x.Stdout, x.Stderr), cio.WithFIFODir(x.FIFODir)}
	if x.Terminal {
		opts = append(opts, cio.WithTerminal)
	}
	return cio.NewCreator(opts...)(x.ID)
}

// runtimeOptions returns the options of containerd's shim for a container of owner, a user of the machine: the standard
// streams belong to that user, so that programs can open them again by path; and runc's own state is in the run folder,
// not in /run/containerd/runc.
func (e *Engine) runtimeOptions(owner uint32) *runcoptions.Options {
	return &runcoptions.Options{
		BinaryName: e.opts.Runc,
		IoUid:      owner,
		IoGid:      owner,
		Root:       filepath.Join(e.opts.RunDir, "runc-state"),
	}
}
