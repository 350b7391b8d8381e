package kept

import (
	"bufio"
	"context"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what a run was on. What cannot be told is empty.
type Machine struct {
	System    string  `json:"system"`    // for example "Debian GNU/Linux 12 (bookworm)"
	Kernel    string  `json:"kernel"`    // for example "6.1.0-30-amd64"
	Processor string  `json:"processor"` // for example "AMD EPYC"
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memoryGiB"`
	Cgroup    string  `json:"cgroup"` // v1 or v2
	Wine      string  `json:"wine"`   // for example "wine-8.0 (Debian 8.0~repack-4)"
}

// ThisMachine tells of the machine that it runs on.
func ThisMachine(ctx context.Context) Machine {
	m := Machine{
		System:    field("/etc/os-release", "PRETTY_NAME=", ""),
		Processor: field("/proc/cpuinfo", "model name", ":"),
		Cores:     runtime.NumCPU(),
		Cgroup:    "v1",
	}

	var host unix.Utsname
	if unix.Uname(&host) == nil {
		m.Kernel = unix.ByteSliceToString(host.Release[:])
	}

	var memory unix.Sysinfo_t
	if unix.Sysinfo(&memory) == nil {
		m.MemoryGiB = math.Round(float64(memory.Totalram)*float64(memory.Unit)/(1<<30)*10) / 10
	}

	var mounted unix.Statfs_t
	if unix.Statfs("/sys/fs/cgroup", &mounted) == nil && mounted.Type == unix.CGROUP2_SUPER_MAGIC {
		m.Cgroup = "v2"
	}

	for _, name := range []string{"wine64", "wine", "/usr/lib/wine/wine64"} {
		if out, err := exec.CommandContext(ctx, name, "--version").Output(); err == nil {
			m.Wine = strings.TrimSpace(string(out))
			break
		}
	}

	return m
}

// field returns what stands behind a word, and what parts the two, in the first line of a file that begins with it.
func field(path, word, part string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()

	lines := bufio.NewScanner(f)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), word)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(strings.TrimSpace(rest), part)
		return strings.Trim(strings.TrimSpace(rest), `"`)
	}

	return ""
}

// Commit returns the commit of the checkout in a folder, and whether the tree has changes. It is empty where there is
// none.
func Commit(ctx context.Context, folder string) (commit string, changed bool) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}

	commit, err := git("rev-parse", "--short=8", "HEAD")
	if err != nil {
		return "", false
	}
	status, err := git("status", "--porcelain", "--untracked-files=no")
	return commit, err != nil || status != ""
}

// Load is the load of a machine, as /proc/loadavg has it for the last minute.
type Load struct {
	Before float64 `json:"before"`
	Most   float64 `json:"most"` // while it ran
}

// everyLoad is how often the load is looked at.
const everyLoad = 10 * time.Second

// WatchLoad looks at the load until the function that it returns is called, which tells it.
func WatchLoad() func() Load {
	var l Load
	l.Before = loadNow()
	l.Most = l.Before

	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(everyLoad)
		defer tick.Stop()

		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				l.Most = max(l.Most, loadNow())
			}
		}
	})

	return func() Load {
		close(ended)
		watching.Wait()
		l.Most = max(l.Most, loadNow())
		return l
	}
}

func loadNow() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
