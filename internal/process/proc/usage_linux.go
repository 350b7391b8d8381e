package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/procfile"
)

// tick is the unit of processor time in /proc: USER_HZ is 100 on every architecture that Go knows (time(7)).
const tick = 10 * time.Millisecond

// usageOf reads the processor time of a child and of the machine; values that cannot be read are 0.
func usageOf(pid int) usage {
	var u usage
	if stat, err := os.ReadFile(procfile.Path(pid, "stat")); err == nil {
		// After the name: state is field 3, utime, stime, cutime and cstime are 14 to 17 (proc_pid_stat(5)).
		const utime, cstime, state = 14, 17, 3
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > cstime-state {
			u.child = ticks(fields[utime-state : cstime-state+1])
		}
	}

	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	// cpu user nice system idle iowait irq softirq steal guest guest_nice (proc_stat(5)); guests' time is in user's
	// too. Waiting for the disk is not idling.
	const idle, last = 4, 8
	if fields := strings.Fields(line); len(fields) > last && fields[0] == "cpu" {
		u.idle, u.total = ticks(fields[idle:idle+1]), ticks(fields[1:last+1])
	}

	return u
}

func ticks(fields []string) time.Duration {
	var sum int64
	for _, f := range fields {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		sum += n
	}
	return time.Duration(sum) * tick
}
