package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/hostservices/initiator"
	"mullion.dev/mullion/internal/process/proc"
)

// stopPatience is how long Down and Stop wait for an orderly stop before they end what is left.
const stopPatience = 60 * time.Second

// Down ends and removes everything of the data folder's cluster, whether or not its supervisor still lives. said is
// told each step when it is done. It works from what is on the machine, not from what should be.
func Down(ctx context.Context, paths layout.Paths, said func(string)) error {
	ctx, held, err := hold.Take(ctx, paths.Run())
	if err != nil {
		return busy(err)
	}
	defer held.Release()
	_, dataErr := os.Stat(paths.Data)
	_, runErr := os.Stat(paths.Run())
	if errors.Is(dataErr, fs.ErrNotExist) && errors.Is(runErr, fs.ErrNotExist) {
		said("nothing is up in " + paths.Data)
		return nil
	}

	mounted := []string{paths.Run(), paths.Data}
	steps := append(stopSteps(), []step{
		{"removed networks", removeNetworks},
		{"removed mounts", func(context.Context, layout.Paths) error {
			var errs []error
			for _, dir := range mounted {
				errs = append(errs, unmountBelow(dir))
			}
			return errors.Join(errs...)
		}},
		{"removed " + paths.Run(), func(_ context.Context, p layout.Paths) error { return removeFiles(p.Run()) }},
	}...)

	_, err = os.Stat(versionFile(paths))
	switch {
	case dataErr != nil || err == nil:
		steps[len(steps)-1] = step{"removed " + paths.Data, func(_ context.Context, p layout.Paths) error {
			return removeFiles(p.Run(), p.Data)
		}}
	case runErr != nil:
		return fmt.Errorf("remove %q: it is not a folder of Mullion's: %w", paths.Data, err)
	default: // Somebody has removed part of it. What it ran goes; whose files these are is not known, nor whose mounts.
		mounted = []string{paths.Run(), paths.Node(""), paths.ContainerdRoot(), paths.Wine()}
		steps = append(steps, step{
			"left " + paths.Data + ", which has no file `version` any more: what is in it is yours to remove",
			func(context.Context, layout.Paths) error { return nil },
		})
	}
	return runSteps(ctx, paths, said, steps)
}

// Stop ends everything that runs, containers too, and keeps the state on disk, so that Up brings the cluster back.
func Stop(ctx context.Context, paths layout.Paths, said func(string)) error {
	ctx, held, err := hold.Take(ctx, paths.Run())
	if err != nil {
		return busy(err)
	}
	defer held.Release()
	return runSteps(ctx, paths, said, stopSteps())
}

// step is one part of taking a cluster down; its name is in the past tense.
type step struct {
	name string
	do   func(context.Context, layout.Paths) error
}

func stopSteps() []step {
	return []step{
		{"stopped the supervisor and its parts", func(ctx context.Context, p layout.Paths) error {
			ctx, cancel := context.WithTimeout(ctx, stopPatience)
			defer cancel()
			err := stopSupervisor(ctx, p)
			if err != nil && !errors.Is(err, context.DeadlineExceeded) && locked(p) {
				return err
			}
			return nil // the next step ends what did not stop in time and what a supervisor that died left
		}},
		// Before the next step: a container can start processes without end.
		{"ended containers", func(ctx context.Context, p layout.Paths) error {
			// A process that waits for a target of iSCSI does not end; and who has ended may have written to it.
			err := errors.Join(initiator.Settle(ctx, p.Run()), KillCgroups(ctx, p.CgroupParent()),
				KillCgroups(ctx, p.OwnCgroup()))
			return errors.Join(err, initiator.Settle(ctx, p.Run()))
		}},
		{"ended processes that were left", func(ctx context.Context, p layout.Paths) error {
			ctx, cancel := context.WithTimeout(ctx, leftoverPatience)
			defer cancel()
			_, err := proc.KillLeftovers(ctx, mark(p), nil)
			// a container's start that was under way may have made its cgroup after they were removed
			return errors.Join(err, KillCgroups(ctx, p.CgroupParent()), KillCgroups(ctx, p.OwnCgroup()))
		}},
	}
}

func runSteps(ctx context.Context, paths layout.Paths, said func(string), steps []step) error {
	for _, s := range steps {
		if err := s.do(ctx, paths); err != nil {
			return fmt.Errorf("step %q of taking the cluster down: %w", s.name, err)
		}
		said(s.name)
	}
	return nil
}

// unmountBelow unmounts everything mounted in dir, deepest first. It leaves a mount at dir itself: that is a volume of
// the user's.
func unmountBelow(dir string) error {
	for range 5 { // mounts can lie over one another
		points, err := mountsBelow(dir)
		if err != nil || len(points) == 0 {
			return err
		}
		for _, p := range points {
			err := unix.Unmount(p, unix.MNT_DETACH)
			if hidden := errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT); err != nil && !hidden {
				return fmt.Errorf("unmount %q: %w", p, err)
			}
		}
	}
	return nil
}

// mountsBelow lists mount points in dir, deepest first.
func mountsBelow(dir string) ([]string, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return !strings.HasPrefix(m.Mountpoint, dir+"/"), false
	})
	if err != nil {
		return nil, fmt.Errorf("list mounts below %q: %w", dir, err)
	}
	points := make([]string, len(mounts))
	for i, m := range mounts {
		points[i] = m.Mountpoint
	}
	slices.SortFunc(points, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return points, nil
}

// removeAll removes a folder, or empties it if it is a mount point: that is a volume.
func removeAll(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	err = beneath.RemoveAll(parent, filepath.Base(dir))
	if !errors.Is(err, unix.EBUSY) {
		return err
	}

	left, readErr := os.ReadDir(dir)
	if readErr != nil || len(left) > 0 {
		return err
	}
	return nil
}

// mark tells the processes of a cluster from all others.
func mark(p layout.Paths) proc.Mark {
	return proc.Mark{
		Cgroups:  []string{p.CgroupParent(), p.OwnCgroup()},
		Pins:     p.Pins(),
		Folder:   p.Run(),
		Programs: []string{shimProgram, "mullion-node"},
	}
}

// removeFiles removes the folders of a cluster. It looks for mounts again first, because it would delete what is in
// them.
func removeFiles(dirs ...string) error {
	for _, dir := range dirs {
		points, err := mountsBelow(dir)
		if err != nil {
			return err
		}
		if len(points) > 0 {
			return fmt.Errorf("%q is still mounted", points[0])
		}
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}
