package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noLimit is more than any limit: cgroup v1 writes one that is none as the number of bytes in 2^51 pages or more.
const noLimit = 1 << 60

// LimitMemoryToChildren bounds the memory of a cgroup by what the cgroups in it that have processes now may hold
// together. A limit of its own matters for what they leave behind: memory in a file that somebody still has open stays
// when the processes of its cgroup have ended. One of them that is called as the cgroup itself counts with own bytes.
// If another one has no limit, the cgroup has none.
//
// What is over a lower limit is killed in the cgroup (v2), or the limit stays as it was (v1). Without the controller
// the error is ErrNoController.
// https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-ownership
func LimitMemoryToChildren(cgroup string, own int64) error {
	all, err := Hierarchies()
	if err != nil {
		return fmt.Errorf("limit memory of cgroup %q: %w", cgroup, err)
	}
	sum, err := memoryOfChildren(all, cgroup, own)
	if err != nil {
		return fmt.Errorf("add up limits of memory in cgroup %q: %w", cgroup, err)
	}

	if sum < noLimit {
		err = LimitMemory(cgroup, sum)
	} else {
		err = liftMemory(cgroup)
	}
	if errors.Is(err, unix.EBUSY) {
		return nil // v1: it holds more, and nothing of that can be taken
	}
	return err
}

// memoryOfChildren adds up the limits of the cgroups in one; noLimit or more if one of them has none.
func memoryOfChildren(all []Hierarchy, cgroup string, own int64) (sum int64, err error) {
	for _, h := range all {
		if !h.mayHave("memory") {
			continue
		}
		file := "memory.limit_in_bytes"
		if h.V2 {
			file = "memory.max"
		}

		dir := filepath.Join(h.Dir, cgroup)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			limit, err := limitOfChild(filepath.Join(dir, e.Name()), file)
			if err != nil {
				return 0, err
			}
			if limit > 0 && e.Name() == filepath.Base(cgroup) {
				limit = own
			}
			sum = min(sum+limit, noLimit)
		}
		return sum, nil
	}

	return 0, ErrNoController
}

// limitOfChild returns the limit of a cgroup, by its folder and the file; 0 if nothing runs there.
func limitOfChild(dir, file string) (int64, error) {
	processes, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	var limit int64
	if err == nil && len(processes) > 0 {
		limit, err = readLimit(filepath.Join(dir, file))
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return 0, nil // it has gone
	}
	return limit, err
}

// readLimit reads a file with a limit of bytes; it is noLimit if that is none.
func readLimit(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(string(text))
	if word == unlimited {
		return noLimit, nil
	}
	limit, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", file, err)
	}
	return min(limit, noLimit), nil
}

// liftMemory takes the limits of LimitMemory from a cgroup.
func liftMemory(cgroup string) error {
	// In cgroup v1 the limit of memory and swap together is lifted first: it cannot be below that of memory.
	for _, s := range []setting{
		{"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", -1, -1},
		{"memory", "memory.limit_in_bytes", "memory.max", -1, -1},
	} {
		if err := limitCgroup(cgroup, s); err != nil && !errors.Is(err, ErrNoController) {
			return err
		}
	}
	return nil
}
