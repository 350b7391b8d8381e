package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/memtrim"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/hostservices/keeper"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/spec"
)

// SuperviseOptions is what Supervise needs.
type SuperviseOptions struct {
	Paths layout.Paths
	Log   *slog.Logger
	// Level is Log's.
	Level *logging.Dial
	// StartLimit bounds the start of each part.
	StartLimit time.Duration
	// Questions are the programs with their arguments by which readers of the cluster may have its Windows nodes asked,
	// by their names. All of them only read.
	Questions map[string][]string
	// Held is the descriptor by which the starter has handed the cluster over (package hold); 0 if it has not.
	Held uint
}

// leftoverPatience bounds the end of what an earlier supervisor left.
const leftoverPatience = time.Minute

// shimProgram is the name of containerd's shim, which keeps a container whatever becomes of containerd.
const shimProgram = "containerd-shim-runc-v2"

// keep reports whether a process outlives a supervisor: containerd's shims, the keepers of containers' streams, of SMB
// shares and of iSCSI's disks, and what runs in containers below the cgroup parent. The next supervisor takes them
// over. What runs in a container is known by its cgroup alone: its environment can say that it is one of the cluster's
// own processes.
func keep(l proc.Leftover, parent string) bool {
	if inContainer(l.Cgroups, parent) {
		return true
	}
	for _, arg := range l.Args {
		if strings.HasSuffix(arg, shimProgram) || arg == "keep-streams" || slices.Contains(keeper.Commands(), arg) {
			return true
		}
	}
	return false
}

// inContainer reports whether a process is in the cgroup of a container: PARENT/NODE/…, but not that of the
// programs of a node's host.
func inContainer(cgroups []string, parent string) bool {
	return slices.ContainsFunc(cgroups, func(name string) bool {
		below, ok := strings.CutPrefix(name, parent+"/")
		_, place, deep := strings.Cut(below, "/")
		return ok && deep && place != cgroup.Own
	})
}

// enter makes this process the cluster's supervisor: it has the data folder's lock, which its file keeps, and is in the
// cluster's cgroup, where whoever takes the cluster down finds it. Until then nobody else can change the cluster.
func enter(ctx context.Context, o SuperviseOptions) (c spec.Cluster, lock *os.File, err error) {
	var held *hold.Held
	if o.Held > 0 {
		held = hold.Inherit(o.Paths.Run(), uintptr(o.Held))
	} else if ctx, held, err = hold.Take(ctx, o.Paths.Run()); err != nil {
		return c, nil, busy(err)
	}
	defer held.Release()
	if err := o.Paths.Prepare(); err != nil {
		return c, nil, err
	}

	if c, err = o.Paths.LoadSpec(); err != nil {
		return c, nil, err
	}
	most, err := machineLimits(len(c.Nodes))
	if err != nil {
		return c, nil, err
	}

	if err := systemd.EnterScope(ctx, o.Paths.Scope(), fmt.Sprintf("Mullion cluster %s (%s)", c.Name, o.Paths.Data),
		uint64(most.clusterTasks)); err != nil {
		return c, nil, err
	}
	if err := cgroup.Enter(o.Paths.Cgroup(layout.Supervisor)); err != nil {
		return c, nil, err
	}

	// Last, since whoever waits for the lock lets go of the cluster then.
	if lock, err = os.OpenFile(o.Paths.Lock(), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return c, nil, err
	}

	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = fmt.Errorf("supervise %q: another supervisor does already", o.Paths.Data)
	case err != nil:
		err = fmt.Errorf("lock %q: %w", o.Paths.Lock(), err)
	default:
		return c, lock, nil
	}

	return c, nil, errors.Join(err, lock.Close())
}

// Supervise runs the cluster that the data folder describes until ctx ends or somebody asks it to stop. There is one
// supervisor for a data folder; a second one returns an error.
func Supervise(ctx context.Context, o SuperviseOptions) error {
	c, lock, err := enter(ctx, o)
	if err != nil {
		return err
	}
	defer lock.Close()
	most, err := machineLimits(len(c.Nodes))
	if err != nil {
		return err
	}

	if err := most.apply(o.Paths, c.Nodes, o.Log); err != nil {
		return err
	}
	weigh(ctx, o.Paths, c.Nodes, o.Log)
	plan, err := NewPlan(c, o.Paths)
	if err != nil {
		return err
	}

	parent := o.Paths.CgroupParent()
	killing, cancel := context.WithTimeout(ctx, leftoverPatience)
	killed, err := proc.KillLeftovers(killing, mark(o.Paths), func(l proc.Leftover) bool { return keep(l, parent) })
	cancel()
	if err != nil {
		return err
	}

	for _, l := range killed {
		o.Log.Info("ended a process that an earlier supervisor left", "pid", l.PID, "args", l.Args)
	}

	parts, err := compose(plan, o.Log)
	if err != nil {
		return err
	}

	watching, stopWatching := context.WithCancel(ctx)
	var watched sync.WaitGroup
	power := func(nodes []spec.Node) {
		watched.Go(func() { watchPower(watching, o.Paths, nodes, o.Log) })
	}
	power(c.Nodes)
	watched.Go(func() { serveView(watching, o) })
	watched.Go(func() { memtrim.Keep(watching, o.Log) })
	defer watched.Wait()
	defer stopWatching()
	more := &grower{
		options:  o,
		spec:     c,
		composer: parts,
		power:    power,
	}

	return supervisor.Run(ctx, supervisor.Config{
		Socket:     o.Paths.Socket(),
		Units:      parts.units,
		Log:        o.Log,
		Level:      o.Level,
		Grow:       more.grow,
		StartLimit: o.StartLimit,
	})
}
