package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawn starts the program on an OS thread of its own, which then waits for it; see the package comment for why.
func (p *Process) spawn(ctx context.Context, out *output) (*child, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe for output: %w", err)
	}
	cmd := exec.Command(p.spec.Path, p.spec.Args...) // ended by Process.end, with patience
	cmd.Dir = p.spec.Dir
	cmd.Env = slices.Clone(p.spec.Env)
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would inherit
	}
	if p.spec.Marker != "" {
		cmd.Env = append(cmd.Env, MarkerVariable+"="+p.spec.Marker)
	}
	// The pipe is ours rather than one of os/exec: Wait would not return while a grandchild holds it.
	cmd.Stdout, cmd.Stderr = writer, writer
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		// A process group of its own: a ctrl-C in the terminal must not reach all parts at once.
		Setpgid: true,
	}
	c := &child{cmd: cmd, exited: make(chan struct{}), reader: reader}
	started := make(chan error, 1)
	onOwnThread(func() {
		err := p.startHere(ctx, cmd)
		started <- err
		if err == nil {
			c.waitErr = cmd.Wait()
			close(c.exited)
		}
	})
	err = <-started
	if closeErr := writer.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close pipe for output: %w", closeErr)
	}
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	c.pid = cmd.Process.Pid
	c.drained = out.pump(reader)
	return c, nil
}

// startHere enters the namespace and starts cmd on the calling thread.
func (p *Process) startHere(ctx context.Context, cmd *exec.Cmd) error {
	if err := enterNetns(p.spec.Netns); err != nil {
		return err
	}
	start := p.spec.Starter
	if start == nil {
		start = func(_ context.Context, cmd *exec.Cmd) error { return cmd.Start() }
	}
	if err := start(ctx, cmd); err != nil {
		return err
	}
	if cmd.Process == nil {
		return NoRestart(errors.New("the starter returned without having started the command"))
	}
	return nil
}

// onOwnThread runs f in a goroutine on an OS thread that nothing else uses, and that ends with f. It is never the process's
// first thread: what that one enters would show as the whole process's in /proc/<pid>/ns.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread() // and never unlocked: the runtime ends the thread with the goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		defer runtime.UnlockOSThread()
		locked := make(chan struct{})
		go func() { // runs on another thread: the first one is taken until this one is locked
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked
	}()
}

// enterNetns moves the calling thread into the network namespace pinned at path; "" stays.
func enterNetns(path string) error {
	if path == "" {
		return nil
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open network namespace %q: %w", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %q: %w", path, err)
	}
	return nil
}

// InNetns runs f on a thread in the network namespace pinned at path ("" is the caller's own) and returns its error. What f opens there,
// sockets for example, keeps working outside; goroutines that f starts are not in the namespace.
func InNetns(path string, f func() error) error {
	if path == "" {
		return f()
	}
	result := make(chan error, 1)
	onOwnThread(func() {
		if err := enterNetns(path); err != nil {
			result <- err
			return
		}
		result <- f()
	})
	return <-result
}

// DialIn returns a dial function whose connections are made in the network namespace pinned at path ("" is the caller's own). Addresses
// must be numeric: a look-up of a name would happen outside.
func DialIn(path string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var conn net.Conn
		err := InNetns(path, func() error {
			var err error
			conn, err = (&net.Dialer{FallbackDelay: -1}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
}
