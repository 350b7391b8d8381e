package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Enter moves the calling process, with all its threads, into the cgroup of that name, which is made if it is missing.
// What the process starts afterwards is there too. On v1 it is moved where it is weighed, and in the hierarchy of the
// controller pids, by which it can be found: whose limits it keeps in the others does not change.
func Enter(cgroup string) error {
	all, err := Hierarchies()
	if err != nil {
		return fmt.Errorf("enter cgroup %q: %w", cgroup, err)
	}
	found := max(0, slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave("pids") }))

	for i, h := range all {
		if i != found && !h.weighs() {
			continue
		}
		dir, err := h.Make(cgroup)
		if err != nil {
			return fmt.Errorf("make cgroup %q: %w", cgroup, err)
		}

		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("enter cgroup %q: %w", dir, err)
		}
	}

	return nil
}
