package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What a compiler or linker may hold before it collects garbage. The largest package, k8s.io/api/core/v1, makes 1 GB
// of it, and most make less than 400 MB.
const (
	leastHeap = 1 << 30
	mostHeap  = 2 << 30
)

// goLanes is how many go commands run side by side: one for Linux, one for Windows.
const goLanes = 2

// withoutCollecting returns the variables with which compilers and linkers collect no garbage while the machine has
// memory for all of them, which is a tenth of their processor time. They are no part of what Go's cache knows a package
// by. It returns none if a share of memory is too small, or if the person has set either of them: then the compiler
// does as it always does, which is better than GOGC=400, since it makes a larger first heap only if neither is set
// (cmd/compile/internal/gc/main.go).
func withoutCollecting(environ []string, memory uint64, processors int) []string {
	if variable(environ, "GOGC") != "" || variable(environ, "GOMEMLIMIT") != "" {
		return nil
	}

	// A go command runs as many compilers as there are processors.
	share := memory / uint64(goLanes*(processors+1))
	if share < leastHeap {
		return nil
	}

	return []string{"GOGC=off", fmt.Sprintf("GOMEMLIMIT=%d", min(share, mostHeap))}
}

// freeMemory returns how many bytes of memory programs can be given, below root, which is / but in tests: what the
// machine has available, or the limit of the container that this is in. It is 0 if the machine does not say.
func freeMemory(root string) uint64 {
	free := uint64(math.MaxUint64)
	for _, file := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue
		}
		// Without a limit the file has a word, or a number that no machine has.
		if limit, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil {
			free = min(free, limit)
		}
	}

	file, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "MemAvailable:")
		if !ok {
			continue
		}
		kilobytes, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 54)
		if err != nil {
			return 0
		}
		return min(free, kilobytes<<10)
	}

	return 0
}
