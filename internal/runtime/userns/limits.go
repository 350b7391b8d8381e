package userns

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// What the kernel counts for each user it counts for the owner of the user's namespace too, and that is the machine's
// root: without limits of its own one container could use up what root has, for the whole machine
// (https://github.com/torvalds/linux/blob/v6.12/kernel/ucount.c, inc_ucount).

// limits are those of a container's user namespace, of /proc/sys/user. Wine's server has one inotify instance, and a
// watch for each folder whose changes a program waits for.
func limits() []string {
	return []string{"max_inotify_instances 8", "max_inotify_watches 8192", "max_fanotify_groups 0"}
}

// Rlimits are limits of every program of a container with so many tasks, those that are run in it later too: of its
// user's signals that wait and POSIX message queues, of which Wine uses none; and core files. Of those there are none:
// one byte is less than any has. Where the machine gives core files to a program, the kernel runs that program whatever
// the limit is, as the machine's root and beside every limit of the container, but at this value, which it keeps for
// such programs (https://github.com/torvalds/linux/blob/v6.12/fs/coredump.c, do_coredump).
//
// A process that may have no limit of one byte gives one of 0: sudo takes core files from what it starts, and only
// CAP_SYS_RESOURCE gets them back, which root in a container can lack. Preflight says what that leaves open.
func Rlimits(tasks uint64) []specs.POSIXRlimit {
	core := uint64(coreFiles)
	if AllowCoreLimit() != nil {
		core = 0
	}

	return []specs.POSIXRlimit{
		{Type: "RLIMIT_CORE", Hard: core, Soft: core},
		{Type: "RLIMIT_SIGPENDING", Hard: tasks, Soft: tasks},
		{Type: "RLIMIT_MSGQUEUE"},
	}
}

// coreFiles is a limit of core files, in bytes, at which the kernel runs no program of the machine's for them.
const coreFiles = 1

// AllowCoreLimit returns an error if this process, and so what it starts, may not set the limit coreFiles. A hard limit
// that is lower is raised to it: that alone shows whether it may.
func AllowCoreLimit() error {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &own); err != nil {
		return fmt.Errorf("limit of core files: %w", err)
	}
	if own.Max >= coreFiles {
		return nil
	}

	raised := unix.Rlimit{Cur: own.Cur, Max: coreFiles}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &raised); err != nil {
		return fmt.Errorf("raise the hard limit of core files from %d to %d bytes: %w", own.Max, coreFiles, err)
	}
	return nil
}

// Limit sets the limits of the user namespace that process pid, the first of a container, is in. Only a process of one
// thread can enter a user namespace, so it is one of nsenter's.
func Limit(ctx context.Context, pid uint32) error {
	script := "cd /proc/sys/user && while read -r name limit; do test ! -e $name || echo $limit >$name || exit; done"
	cmd := exec.CommandContext(ctx, "nsenter", fmt.Sprintf("--user=/proc/%d/ns/user", pid), "--", "/bin/sh", "-c", script)
	cmd.Stdin = strings.NewReader(strings.Join(limits(), "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("limit user namespace of process %d: %w: %s", pid, err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
