package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Weight is what a cgroup has beside its siblings when all of them want more than there is. It takes nothing from a
// cgroup whose siblings want nothing.
type Weight struct {
	// Share is of processor time and of input and output, from 1 to 10000; a cgroup without one has UsualShare.
	Share int64
	// Memory is how many bytes the kernel takes away only when it finds none elsewhere. cgroup v1 has no such thing.
	// It counts as far as the cgroups above have it too.
	Memory int64
}

const (
	// UsualShare is the kernel's own for a cgroup, and that of one busy thread beside it
	// (https://docs.kernel.org/admin-guide/cgroup-v2.html#weights).
	UsualShare = 100
	// MostShare is the kernel's upper limit.
	MostShare = 10_000
	// OwnShare is that of the programs of a node's host, beside its pods: as much as those of a hundred pods.
	OwnShare = MostShare
)

// shares1 returns what cgroup v1 calls a share, of which one busy thread has 1024, and 2 is the least
// (https://docs.kernel.org/scheduler/sched-design-CFS.html).
func shares1(share int64) int64 { return max(share*1024/UsualShare, 2) }

// blkio1 returns a share in the range of cgroup v1's blkio.weight, 10 to 1000
// (https://docs.kernel.org/admin-guide/cgroup-v1/blkio-controller.html).
func blkio1(share int64) int64 { return min(max(share, 10), 1000) }

// Weigh gives the cgroup of that name its weight. The cgroup is made if it is missing. Whether the kernel weighs input
// and output depends on the scheduler of the disk; where it does not, that is left out. Without the controller of
// processors the error is ErrNoController.
func Weigh(cgroup string, w Weight) error {
	cpu := setting{"cpu", "cpu.shares", "cpu.weight", shares1(w.Share), w.Share}
	rest := []setting{
		{"blkio", "blkio.weight", "io.weight", blkio1(w.Share), w.Share},
		{"blkio", "blkio.bfq.weight", "io.bfq.weight", blkio1(w.Share), blkio1(w.Share)},
		{"memory", "", "memory.low", 0, w.Memory},
	}
	if err := limitCgroup(cgroup, cpu); err != nil {
		return err
	}

	for _, s := range rest {
		if err := limitCgroup(cgroup, s); err != nil && !errors.Is(err, ErrNoController) {
			return err
		}
	}

	return count(cgroup)
}

// count makes the cgroup where cgroup v1 counts the time of processors, so that Processors.Time knows it. Most machines
// weigh and count in one hierarchy, but not all.
func count(cgroup string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if !h.mayHave("cpuacct") {
			continue
		}
		if _, err := h.Make(cgroup); err != nil {
			return fmt.Errorf("make cgroup %q: %w", cgroup, err)
		}
	}
	return nil
}

// WeighOwn gives the programs of a node's host their weight beside its pods, on cgroup v2 after the node's cgroup
// passes its controllers on.
func WeighOwn(node string) error {
	err := Weigh(filepath.Join(node, Own), Weight{Share: OwnShare})
	if errors.Is(err, ErrNoController) {
		return nil
	}
	return err
}

// weighs reports whether a hierarchy has a controller that weighs, or counts what is weighed. In cgroup v1 a process is
// moved in these only: whose limits it keeps in the others does not change.
func (h Hierarchy) weighs() bool {
	return slices.ContainsFunc([]string{"cpu", "cpuacct", "blkio"}, h.mayHave)
}

// Prefer makes cmd start in the cgroup of that name, as Place does and on the same terms, but for the weight of the
// cgroup alone. If the cgroup is not there, cmd starts where the caller is: it works all the same.
func Prefer(cmd *exec.Cmd, cgroup string) (*os.File, error) {
	if cgroup == "" {
		return nil, nil //nolint:nilnil // nothing is to be closed
	}
	all, err := Hierarchies()
	if err != nil {
		return nil, err
	}

	if all[0].V2 {
		return placeV2(cmd, filepath.Join(all[0].Dir, cgroup))
	}

	for _, h := range slices.DeleteFunc(all, func(h Hierarchy) bool { return !h.weighs() }) {
		err := os.WriteFile(filepath.Join(h.Dir, cgroup, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("enter cgroup %q: %w", cgroup, err)
		}
	}

	return nil, nil //nolint:nilnil // nothing is to be closed
}

// placeV2 makes the kernel put cmd into the cgroup of version 2 at dir, if it is there.
func placeV2(cmd *exec.Cmd, dir string) (*os.File, error) {
	group, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is to be closed
	}
	if err != nil {
		return nil, fmt.Errorf("enter cgroup: %w", err)
	}

	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
	return group, nil
}

// There reports whether there is a cgroup of that name.
func There(cgroup string) (bool, error) {
	all, err := Hierarchies()
	if err != nil {
		return false, fmt.Errorf("look for cgroup %q: %w", cgroup, err)
	}

	for _, h := range all {
		if _, err := os.Stat(filepath.Join(h.Dir, cgroup)); err == nil {
			return true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}

	return false, nil
}
