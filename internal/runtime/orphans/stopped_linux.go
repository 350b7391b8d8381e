package orphans

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// stopped is a flag of waitid(2), WSTOPPED.
const stopped = 0x2

// letChildrenGoOn calls LetGoOn for every child that was stopped since the last call.
func letChildrenGoOn() {
	for {
		var info siginfo
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pAll, 0, uintptr(unsafe.Pointer(&info)),
			stopped|noHang, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 || info.pid == 0 {
			return
		}
		LetGoOn(int(info.pid))
	}
}

// LetAllGoOn calls LetGoOn for every process of the PID namespace. It is for those that are not children. The first
// thread of one that stands still by mistake is traced, or stands itself.
func LetAllGoOn() {
	for _, name := range numbers("/proc") {
		dir := "/proc/" + name
		if pid, err := strconv.Atoi(name); err == nil && (state(dir) == standing || isTraced(dir)) {
			LetGoOn(pid)
		}
	}
}

// LetGoOn lets a process go on that stands still by mistake, and reports whether it did. Wine's server attaches to a
// thread by ptrace(2) where a program reads or writes another's memory. If the thread has not stopped within three
// seconds, as on a machine that has much to do, the server gives up; it passes on the SIGSTOP that comes later, which
// stops all threads of the process but this one (Wine 8.0, server/ptrace.c). Nobody lets them go on. A process that
// somebody stopped on purpose has no thread that is traced. Nor has one whose thread the server could let go before the
// SIGSTOP came, for example as it stood for another signal: the two cannot be told apart, and both stay stopped.
func LetGoOn(pid int) bool {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	stands, traced := false, false
	for _, name := range numbers(tasks) {
		stands = stands || state(tasks+"/"+name) == standing
		traced = traced || isTraced(tasks+"/"+name)
	}
	return stands && traced && syscall.Kill(pid, syscall.SIGCONT) == nil
}

// standing is the state of a thread that a signal stopped (proc_pid_stat(5)).
const standing = 'T'

// state returns the state of the process or thread of a folder of proc, 0 if it is gone.
func state(dir string) byte {
	text, _ := os.ReadFile(dir + "/stat")
	_, fields, ok := cutLast(string(text), ") ") // a name may have anything in it
	if !ok || fields == "" {
		return 0
	}
	return fields[0]
}

// isTraced reports whether the thread of a folder of proc has a tracer.
func isTraced(dir string) bool {
	text, _ := os.ReadFile(dir + "/status")
	_, after, ok := strings.Cut(string(text), "\nTracerPid:\t")
	return ok && !strings.HasPrefix(after, "0\n")
}

// numbers returns the entries of a folder that begin with a digit.
func numbers(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // those that were read
	var out []string
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			out = append(out, name)
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
