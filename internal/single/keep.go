package single

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/runtime/orphans"
)

// The engine is two processes, so that nothing outlives it, however it ends. The keeper has the lock and the cgroup. It
// starts the server as the first process of a PID namespace and a mount namespace: when either is killed, the kernel
// ends containerd, its shims and all containers, and takes the mounts with them.

// Keep is the keeper. It returns when the server has ended: when ctx is over, or nobody has asked for anything for a
// while. There is one for a data folder: a second waits until the first has ended. server is the command line of a
// process that calls Serve.
func Keep(ctx context.Context, o Options, server ...string) (err error) {
	unix.Umask(openMask)
	if err := o.Paths.Prepare(); err != nil {
		return err
	}
	lock, err := hold(ctx, o.Paths.alive())
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := o.enter(ctx); err != nil {
		return err
	}

	ended := make(chan error, 1)
	go func() {
		// The thread that starts a process has to outlive it: its end is the signal.
		ended <- netns.OnThread(func() error { return o.serveInside(ctx, server) })
	}()
	err = <-ended
	return errors.Join(err, o.leave(context.WithoutCancel(ctx)))
}

// stopTimeout is how long the server may take to end.
const stopTimeout = time.Minute

// serveInside runs the server in namespaces of its own, until it ends.
func (o Options) serveInside(ctx context.Context, server []string) error {
	cmd := exec.CommandContext(ctx, server[0], server[1:]...)
	cmd.Env = o.Environ
	cmd.Stdout, cmd.Stderr = o.Output, o.Output
	cmd.Dir = "/"
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		Pdeathsig:  unix.SIGKILL,
		Setpgid:    true,
	}

	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the engine's server ended: %w", err)
	}
	return nil // it was asked to, however it ended
}

// enter puts this process, and what it will start, in its place, and ends what an earlier engine has left there.
func (o Options) enter(ctx context.Context) error {
	p := o.Paths
	if err := systemd.EnterScope(ctx, p.Scope(), fmt.Sprintf("Mullion single containers (%s)", p.Data),
		mostTasks); err != nil {
		return err
	}
	mark := proc.Mark{Cgroups: []string{p.CgroupParent(), p.OwnCgroup()}}
	killing, cancel := context.WithTimeout(ctx, leftoverPatience)
	defer cancel()

	killed, err := proc.KillLeftovers(killing, mark, nil)
	if err != nil {
		return err
	}
	for _, l := range killed {
		o.Log.Info("ended a process that an earlier engine left", "pid", l.PID, "args", l.Args)
	}

	// What has been killed is in its cgroup for a moment more.
	if err := o.killCgroups(killing); err != nil {
		return err
	}
	// Mounts were in the namespace of the earlier engine. A client may have made its folder of streams already.
	if err := o.clear("containers", "engine", "mounts", "netns"); err != nil {
		return err
	}

	return cgroup.Enter(p.Cgroup(layout.Supervisor))
}

// killCgroups ends what is in the cgroups of containers, and removes them. Below systemd's scope they lie beside the
// one of this process, which goes on.
func (o Options) killCgroups(ctx context.Context) error {
	parent := o.Paths.CgroupParent()
	if _, delegated := systemd.Delegated(o.Paths.Scope()); !delegated {
		return cluster.KillCgroups(ctx, parent)
	}

	others, err := besideInner("/sys/fs/cgroup" + parent)
	for _, name := range others {
		err = errors.Join(err, cluster.KillCgroups(ctx, parent+"/"+name))
	}
	return err
}

// besideInner returns the cgroups in that of systemd's scope, without the one of the process that entered it.
func besideInner(scope string) ([]string, error) {
	entries, err := os.ReadDir(scope)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != systemd.Inner {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// clear removes folders of the run folder.
func (o Options) clear(names ...string) error {
	var err error
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(o.Paths.Run(), name)))
	}
	return err
}

// leave removes what an engine has on the machine besides its data folder.
func (o Options) leave(ctx context.Context) error {
	p := o.Paths
	err := o.killCgroups(ctx)
	err = errors.Join(err, o.clear("containers", "engine", "mounts", "containerd", "s", "netns"), p.clearStreams())
	if _, delegated := systemd.Delegated(p.Scope()); delegated {
		return err // it goes with its last process
	}
	return errors.Join(err, cgroup.Enter("/"), cgroup.Remove(p.Cgroup(gatewayGroup)),
		cgroup.Remove(p.Cgroup(layout.Supervisor)), cgroup.Remove(p.OwnCgroup()))
}

// settle makes the namespaces that the server is started in its own: it sees its own processes, and what is mounted in
// it stays in it.
func settle() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts in the engine's namespace: %w", err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount /proc for the engine's namespace: %w", err)
	}
	return nil
}

// reapInterval is the time between two looks for processes without a parent.
const reapInterval = 5 * time.Second

// reap waits, until ctx is over, for the processes that have lost their parent: they are children of the first process
// of the namespace, which started none of these names itself.
func reap(ctx context.Context) {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, pid := range zombies() {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // another one next time
			}
		}
	}
}

// zombies are children of this process that have ended and that nobody waits for.
func zombies() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}

	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err == nil && isOrphan(string(stat), os.Getpid()) {
			found = append(found, pid)
		}
	}

	return found
}

// isOrphan reads proc_pid_stat(5): "pid (name) state parent …".
func isOrphan(stat string, parent int) bool {
	_, rest, _ := strings.Cut(stat, "(")
	end := strings.LastIndexByte(rest, ')')
	if end < 0 {
		return false
	}
	fields := strings.Fields(rest[end+1:])
	if len(fields) < 2 || fields[0] != "Z" || fields[1] != strconv.Itoa(parent) {
		return false
	}
	name := rest[:end]
	return name == "containerd-shim" || name == "runc" || orphans.IsWineServer(name)
}
