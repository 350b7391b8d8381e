package procfile

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// KillMarked kills a process that has "NAME=value" in its environment, and reports whether it had. The process that is
// looked at is the one that is killed: it may hold up who reads its environment, by memory that is a file of a slow
// server, and meanwhile end, and its number may be another process's.
func KillMarked(pid int, variable string) (marked bool, err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) { // it is gone, or was a thread's
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()

	if !HasVariable(pid, variable) {
		return false, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return true, fmt.Errorf("kill process %d: %w", pid, err)
	}
	return true, nil
}
