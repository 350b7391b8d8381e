package emptydirs

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceness of the thread that sweeps: below everything that serves.
const niceness = 15

// GiveWay makes the calling goroutine's thread its own, which ends with it, and of low priority. If the kernel refuses
// that, the work is done all the same.
func GiveWay() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}
