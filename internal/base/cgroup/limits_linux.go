package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// LimitTasks bounds how many processes and threads there may be in the cgroup of that name, below each hierarchy's
// root, and in all below it. The cgroup is made if it is missing. What runs already is not ended. Without the
// controller the error is ErrNoController. https://docs.kernel.org/admin-guide/cgroup-v2.html#pid
func LimitTasks(cgroup string, most int64) error {
	return limitCgroup(cgroup, "pids", "pids.max", "pids.max", most)
}

// LimitMemory bounds in the same way how many bytes of memory a cgroup may hold, files that are cached for it among
// them. Where it is full the kernel kills in this cgroup, what has the highest OOM score first.
// https://docs.kernel.org/admin-guide/cgroup-v2.html#memory
func LimitMemory(cgroup string, most int64) error {
	return limitCgroup(cgroup, "memory", "memory.limit_in_bytes", "memory.max", most)
}

// LimitCPU bounds in the same way how much time of processors a cgroup may use, in microseconds for each 100,000 of
// them.
// https://docs.kernel.org/scheduler/sched-bwc.html
func LimitCPU(cgroup string, most int64) error {
	return limitCgroup(cgroup, "cpu", "cpu.cfs_quota_us", "cpu.max", most)
}

// limitCgroup writes a limit to the file of a controller, which has another name in cgroup v1.
func limitCgroup(cgroup, controller, v1, v2 string, most int64) error {
	all, err := Hierarchies()
	if err == nil {
		err = limitIn(all, cgroup, controller, [2]string{v1, v2}, most)
	}
	if err != nil {
		return fmt.Errorf("limit %s of cgroup %q: %w", controller, cgroup, err)
	}
	return nil
}

// limitIn writes a limit to the controller's file of a cgroup, whose names in cgroup v1 and v2 are given.
func limitIn(all []Hierarchy, cgroup, controller string, names [2]string, most int64) error {
	i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave(controller) })
	if i < 0 {
		return ErrNoController
	}
	dir, err := all[i].Make(cgroup)
	if err != nil {
		return err
	}
	name := names[0]
	if all[i].V2 {
		name = names[1]
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoController
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.FormatInt(most, 10))
	return errors.Join(err, file.Close())
}

// mayHave reports whether the hierarchy can have a controller. A hierarchy of cgroup v1 is named after its controllers.
func (h Hierarchy) mayHave(controller string) bool {
	return h.V2 || slices.Contains(strings.Split(filepath.Base(h.Dir), ","), controller)
}
