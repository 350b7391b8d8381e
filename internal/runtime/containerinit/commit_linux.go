package containerinit

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"mullion.dev/mullion/internal/runtime/orphans"
)

// On Windows the programs of a container share one commit limit, and who asks for more than is left gets nothing. Linux
// has a limit of that kind for a process by itself (RLIMIT_DATA: private writable pages, touched or not, getrlimit(2)).
// So each process is given again and again what it has and what is left of the container's limit. Between two looks
// several processes may each take what was left, which the container's cgroup then has to bear.
const (
	// processBytes and threadBytes are Wine's own share in a process, which Windows does not count (measured with Wine
	// 8.0: 10 MiB of an idle process, 2 to 3 MiB of each thread, whose whole stacks count here).
	processBytes = 12 << 20
	threadBytes  = 3 << 20
	// room is left to each process even when the limit is reached, for a thread or two.
	room = 8 << 20
	// Looks are more frequent when more than half of the limit is used.
	calmPause = 500 * time.Millisecond
	nearPause = 50 * time.Millisecond
)

// process is what is looked at of a process; sizes are in bytes.
type process struct {
	pid        int
	data       int64 // what RLIMIT_DATA limits
	committed  int64 // what Windows would count
	wineServer bool
}

// shareCommit looks after the commit limit that the container's job file names, which may change, until stop is closed.
func shareCommit(jobFile, proc string, stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	limited := false
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		limit := commitLimit(jobFile)
		pause := calmPause
		if limit > 0 || limited {
			if divide(limit, processes(proc), limitData) {
				pause = nearPause
			}
			limited = limit > 0
		}
		timer.Reset(pause)
	}
}

// divide gives each process its limit, 0 being none, and reports whether more than half of the container's is used.
func divide(limit int64, all []process, set func(pid int, bytes uint64)) bool {
	left := limit
	for _, p := range all {
		left -= p.committed
	}
	for _, p := range all {
		switch {
		case p.wineServer:
		case limit == 0:
			set(p.pid, ^uint64(0)) // RLIM_INFINITY
		default:
			set(p.pid, uint64(max(p.data+left+room, 0)))
		}
	}
	return limit > 0 && left < limit/2
}

// processes are those of the container but for this one.
func processes(proc string) []process {
	dir, err := os.Open(proc)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that were read
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(proc + "/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		statm, err := os.ReadFile(proc + "/" + name + "/statm")
		if err != nil {
			continue
		}
		if p, ok := parseProcess(pid, stat, statm); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseProcess reads the files of these names, proc_pid_stat(5) and proc_pid_statm(5).
func parseProcess(pid int, stat, statm []byte) (process, bool) {
	const (
		threadsField = 17 // num_threads, counted from the first field behind the name
		dataField    = 5
	)
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')') // a name may have both in it
	sizes := bytes.Fields(statm)
	if begin < 0 || end < begin || len(sizes) <= dataField {
		return process{}, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) <= threadsField {
		return process{}, false
	}
	threads, err := strconv.ParseInt(string(fields[threadsField]), 10, 32)
	if err != nil {
		return process{}, false
	}
	pages, err := strconv.ParseInt(string(sizes[dataField]), 10, 48)
	if err != nil {
		return process{}, false
	}
	data := pages * int64(os.Getpagesize())
	return process{
		pid:        pid,
		data:       data,
		committed:  max(data-processBytes-threads*threadBytes, 0),
		wineServer: orphans.IsWineServer(string(stat[begin+1 : end])),
	}, true
}

// commitLimit reads the limit from the job file (package windows/jobobject), 0 without one. The file is the container's,
// whose programs can only deceive themselves: the cgroup has the limit that nobody gets around.
func commitLimit(file string) int64 {
	const (
		extendedLimits = 9
		jobMemoryLimit = 120 // its place in JOBOBJECT_EXTENDED_LIMIT_INFORMATION
		head, word     = 8, 8
	)
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	data := make([]byte, 4096)
	n, _ := f.Read(data)
	for data = data[:n]; len(data) >= head; {
		size := int(number(data[4:head]))
		if size < 0 || size > len(data)-head {
			return 0
		}
		if number(data[:4]) == extendedLimits && size >= jobMemoryLimit+word {
			return max(number(data[head+jobMemoryLimit:head+jobMemoryLimit+word]), 0)
		}
		data = data[head+size:]
	}
	return 0
}

// number is one that lies in memory, its least byte first.
func number(b []byte) (n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	return n
}

// limitData sets the soft RLIMIT_DATA of a process, of which only the hard one needs a privilege. A process that has
// ended, or is another user's, is left alone.
func limitData(pid int, most uint64) {
	limit := syscall.Rlimit{Cur: most, Max: ^uint64(0)}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_DATA,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
