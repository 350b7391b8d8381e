package linuxhost

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

// ErrTasksNotCounted says that the machine's kernel counts no processes by cgroup.
var ErrTasksNotCounted = errors.New("the cgroup controller pids is not there")

// LimitTasks bounds how many processes and threads there may be in the cgroup of that name, below each hierarchy's
// root, and in all below it. The cgroup is made if it is missing. What runs already is not ended.
// https://docs.kernel.org/admin-guide/cgroup-v2.html#pid
func LimitTasks(cgroup string, most int64) error {
	all, err := hierarchies()
	if err == nil {
		err = limitTasks(all, cgroup, most)
	}
	if err != nil {
		return fmt.Errorf("limit processes of cgroup %q: %w", cgroup, err)
	}
	return nil
}

func limitTasks(all []hierarchy, cgroup string, most int64) error {
	i := slices.IndexFunc(all, hierarchy.counts)
	if i < 0 {
		return ErrTasksNotCounted
	}
	dir, err := all[i].make(cgroup)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "pids.max"), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrTasksNotCounted
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.FormatInt(most, 10))
	return errors.Join(err, file.Close())
}

// counts says whether the controller pids may be in the hierarchy. Those of cgroup v1 have their controllers' names.
func (hi hierarchy) counts() bool {
	return hi.v2 || slices.Contains(strings.Split(filepath.Base(hi.dir), ","), "pids")
}
