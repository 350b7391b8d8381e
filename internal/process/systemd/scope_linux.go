package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Running reports whether systemd is the machine's service manager; sd_booted(3).
func Running() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}

// cgroupRoot is where cgroup v2 is mounted if it is the only hierarchy.
const cgroupRoot = "/sys/fs/cgroup"

func unified() bool {
	var st unix.Statfs_t
	return unix.Statfs(cgroupRoot, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// slice is the systemd slice of system services.
const slice = "system.slice"

// Delegated returns the cgroup that systemd delegates to the scope of that name, as a path below the hierarchy's root;
// false if there is none, because systemd does not run or the machine has cgroup v1.
func Delegated(scope string) (string, bool) {
	if !Running() || !unified() {
		return "", false
	}
	return "/" + slice + "/" + scope, true
}

const (
	askTimeout  = time.Minute      // for systemd to make the scope
	stopTimeout = 30 * time.Second // for what is in the scope to end when the machine goes down
)

// Inner is the cgroup, below a delegated one, of the process that entered the scope: a cgroup that has others below it
// may not hold processes.
const Inner = "@supervisor"

// EnterScope moves the calling process into the scope, which is made if it does not exist. It does nothing where
// systemd does not run. What the process starts afterwards is in the scope too, together at most tasks processes and
// threads. The scope ends with its last process.
func EnterScope(ctx context.Context, scope, description string, tasks uint64) error {
	if !Running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := enter(ctx, scope, description, tasks); err != nil {
		return fmt.Errorf("ask systemd for scope %q: %w", scope, err)
	}
	if path, ok := Delegated(scope); ok {
		return moveTo(filepath.Join(cgroupRoot, path, Inner))
	}
	return nil
}

func enter(ctx context.Context, scope, description string, tasks uint64) error {
	conn, err := dbus.NewWithContext(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	pid := uint32(os.Getpid()) //nolint:gosec // the kernel has no larger than 2^22
	property := func(name string, value any) dbus.Property {
		return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
	}

	done := make(chan string, 1)
	_, err = conn.StartTransientUnitContext(ctx, scope, "fail", []dbus.Property{
		dbus.PropDescription(description), dbus.PropSlice(slice), dbus.PropPids(pid), property("Delegate", true),
		// systemd's default limit of tasks is meant for a single service
		property("CollectMode", "inactive-or-failed"), property("TasksMax", tasks),
		property("TimeoutStopUSec", uint64(stopTimeout/time.Microsecond)),
	}, done)

	var refused godbus.Error
	if errors.As(err, &refused) && refused.Name == "org.freedesktop.systemd1.UnitExists" {
		// The limit of a scope that an earlier version made may be another.
		if err := conn.SetUnitPropertiesContext(ctx, scope, true, property("TasksMax", tasks)); err != nil {
			return err
		}
		return join(ctx, conn, scope, pid)
	}

	if err != nil {
		return err
	}

	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("the job to start it ended with %q", result)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Weigh gives the scope of that name its part of processor time, and of input and output, beside the other units of its
// slice, from 1 to 10000 (https://www.freedesktop.org/software/systemd/man/latest/systemd.resource-control.html).
func Weigh(ctx context.Context, scope string, weight uint64) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := dbus.NewWithContext(ctx)
	if err != nil {
		return fmt.Errorf("ask systemd for the weight of scope %q: %w", scope, err)
	}
	defer conn.Close()
	if err := conn.SetUnitPropertiesContext(ctx, scope, true,
		dbus.Property{Name: "CPUWeight", Value: godbus.MakeVariant(weight)},
		dbus.Property{Name: "IOWeight", Value: godbus.MakeVariant(weight)}); err != nil {
		return fmt.Errorf("ask systemd for the weight of scope %q: %w", scope, err)
	}
	return nil
}

// join enters a scope that an earlier process made and that still has others in it. With cgroup v2 EnterScope does it
// by itself.
func join(ctx context.Context, conn *dbus.Conn, scope string, pid uint32) error {
	if unified() {
		return nil
	}
	return conn.AttachProcessesToUnit(ctx, scope, "", []uint32{pid})
}

func moveTo(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return fmt.Errorf("enter cgroup %q: %w", dir, err)
	}
	return nil
}
