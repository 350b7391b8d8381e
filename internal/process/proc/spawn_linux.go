package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
)

// spawn starts the program on an OS thread of its own, which then waits for it; see the package comment for why.
func (p *Process) spawn(ctx context.Context, out *output) (*child, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe for output: %w", err)
	}

	cmd := exec.Command(p.spec.Path, p.spec.Args...) //nolint:noctx // ended by Process.end, with patience
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

	c := &child{
		cmd:    cmd,
		exited: make(chan struct{}),
		reader: reader,
	}

	started := make(chan error, 1)
	go func() {
		_ = netns.OnThread(func() error {
			err := p.startHere(ctx, cmd)
			started <- err
			if err == nil {
				c.waitErr = cmd.Wait()
				close(c.exited)
			}
			return nil
		})
	}()

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

// startHere enters the cgroup and the namespace, and starts cmd on the calling thread.
func (p *Process) startHere(ctx context.Context, cmd *exec.Cmd) error {
	group, err := cgroup.Prefer(cmd, p.spec.Cgroup)
	if err != nil {
		return err
	}
	defer group.Close()
	if p.spec.Netns != "" {
		if err := netns.Enter(p.spec.Netns); err != nil {
			return err
		}
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

// InNetns runs f on a thread in the network namespace pinned at path ("" is the caller's own) and returns its error.
// What f opens there, sockets for example, keeps working outside; goroutines that f starts are not in the namespace.
func InNetns(path string, f func() error) error {
	if path == "" {
		return f()
	}
	return netns.Do(path, f)
}

// DialIn returns a dial function whose connections are made in the network namespace pinned at path ("" is the caller's
// own). Addresses must be numeric: a look-up of a name would happen outside.
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
