package containerinit

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// helpers are programs of Wine and of Mullion that serve a container: they are not its own. Linux calls a process by
// the first 15 characters of its program.
func helpers() []string {
	return []string{
		launcher, "services.exe", "winedevice.exe", "plugplay.exe", "svchost.exe", "rpcss.exe", "explorer.exe", "conhost.exe",
		"wineboot.exe", "start.exe", "wineserver", "wineserver64", "wine", "wine64", "wine64-preloader", "mullion-init",
	}
}

// noteLeft adds to the report which programs still run as the container ends, and are killed with it:
// "left 2 prog.exe, other.exe".
func noteLeft(cfg Config, proc string) {
	file := cfg.report()
	if file == "" {
		return
	}
	names := left(proc)
	if len(names) == 0 {
		return
	}

	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return // nobody learns of them
	}
	defer f.Close()
	count := strconv.Itoa(len(names))
	_, _ = f.WriteString("left " + count + " " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ") + "\n")
}

// left returns the names of the programs that run beside this one.
func left(proc string) []string {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}

	var names []string
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == 1 || pid == os.Getpid() {
			continue
		}
		if name := program(proc + "/" + entry.Name()); name != "" && !slices.Contains(helpers(), name) {
			names = append(names, name)
		}
	}

	return names
}

// program returns the name of a process's program, "" if it has ended.
func program(dir string) string {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return ""
	}
	_, rest, named := strings.Cut(string(stat), "(")
	end := strings.LastIndex(rest, ") ")
	if !named || end < 0 || strings.HasPrefix(rest[end+2:], "Z") || strings.HasPrefix(rest[end+2:], "X") {
		return ""
	}

	return strings.Map(func(r rune) rune {
		if r < ' ' || r == ',' {
			return '?'
		}
		return r
	}, rest[:end])
}
