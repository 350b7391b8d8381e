package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Enter moves the calling process into the cgroup of that name, which is made if it is missing. What the process starts
// afterwards is there too. On v1 it is the cgroup of one hierarchy, that of the controller pids if there is one: where a
// process is can be seen in any, and shares of processors are left as they are.
func Enter(cgroup string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	i := max(0, slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave("pids") }))
	dir, err := all[i].Make(cgroup)
	if err != nil {
		return fmt.Errorf("make cgroup %q: %w", cgroup, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return fmt.Errorf("enter cgroup %q: %w", dir, err)
	}
	return nil
}
