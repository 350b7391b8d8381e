package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/process/systemd"
)

// SuperviseOptions is what Supervise needs.
type SuperviseOptions struct {
	Paths      layout.Paths
	Executable string
	Log        *slog.Logger
	// StartLimit bounds the start of each part.
	StartLimit time.Duration
}

// keep tells which processes outlive a supervisor: containerd's shims, with the containers they hold, and the keepers
// of their streams. Both are picked up again.
func keep(l proc.Leftover) bool {
	for _, arg := range l.Args {
		if strings.HasSuffix(arg, "containerd-shim-runc-v2") || arg == "keep-streams" {
			return true
		}
	}
	return false
}

// Supervise runs the cluster that the data folder describes until ctx ends or somebody asks it to stop. There is one
// supervisor for a data folder; a second one returns an error.
func Supervise(ctx context.Context, o SuperviseOptions) error {
	if err := o.Paths.Prepare(); err != nil {
		return err
	}
	lock, err := os.OpenFile(o.Paths.Lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("supervise %q: another supervisor does already", o.Paths.Data)
		}
		return fmt.Errorf("lock %q: %w", o.Paths.Lock(), err)
	}
	c, err := o.Paths.LoadSpec()
	if err != nil {
		return err
	}
	if err := systemd.EnterScope(ctx, o.Paths.Scope(),
		fmt.Sprintf("Mullion cluster %s (%s)", c.Name, o.Paths.Data)); err != nil {
		return err
	}
	plan, err := NewPlan(c, o.Paths)
	if err != nil {
		return err
	}
	killed, err := proc.KillLeftovers(ctx, o.Paths.Data, keep)
	if err != nil {
		return err
	}
	for _, l := range killed {
		o.Log.Info("ended a process that an earlier supervisor left", "pid", l.PID, "args", l.Args)
	}
	units, err := Units(plan, UnitOptions{Executable: o.Executable, Log: o.Log})
	if err != nil {
		return err
	}
	return supervisor.Run(ctx, supervisor.Config{
		Socket:     o.Paths.Socket(),
		Units:      units,
		Log:        o.Log,
		StartLimit: o.StartLimit,
	})
}
