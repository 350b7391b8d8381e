package orphans

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// siginfo is siginfo_t of a 64-bit Linux as waitid(2) fills it in.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	_                     [108]byte
}

// Flags of waitid(2), which package syscall does not name:
// https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/wait.h
const (
	pAll    = 0
	noHang  = 0x1
	exited  = 0x4
	leaveIt = 0x01000000 // WNOWAIT
)

// Reap waits for every child that has ended, and calls ended with each one's pid, the name that the kernel knew it by,
// and how it ended. It does not wait for those that live. Those that Wine's server has stopped by mistake go on.
func Reap(ended func(pid int, name string, status syscall.WaitStatus)) {
	letChildrenGoOn()
	for {
		var info siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pAll, 0, uintptr(unsafe.Pointer(&info)),
			exited|noHang|leaveIt, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 || info.pid == 0 {
			return
		}

		pid := int(info.pid)
		name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm") // without /proc the name is ""
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			return
		}
		ended(pid, strings.TrimSuffix(string(name), "\n"), status)
	}
}

// Killed reports whether a process was ended by a signal or with an exit code other than 0.
func Killed(status syscall.WaitStatus) bool { return status.Signaled() || status.ExitStatus() != 0 }
