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

	"golang.org/x/sys/unix"
)

// LimitTasks bounds how many processes and threads there may be in the cgroup of that name, below each hierarchy's
// root, and in all below it. The cgroup is made if it is missing. What runs already is not ended. Without the
// controller the error is ErrNoController. https://docs.kernel.org/admin-guide/cgroup-v2.html#pid
func LimitTasks(cgroup string, most int64) error {
	return limitCgroup(cgroup, setting{"pids", "pids.max", "pids.max", most, most})
}

// LimitMemory bounds in the same way how many bytes of memory a cgroup may hold, files that are cached for it among
// them. Nothing of it goes to the machine's swap, as for pods of Linux nodes: otherwise the limit would be none. Where
// the kernel does not count swap that is left out. Where the cgroup is full the kernel kills in it, what has the
// highest OOM score first.
// https://docs.kernel.org/admin-guide/cgroup-v2.html#memory
func LimitMemory(cgroup string, most int64) error {
	memory := setting{"memory", "memory.limit_in_bytes", "memory.max", most, most}
	// In cgroup v1 it is the limit of both together, which cannot be below that of memory.
	swap := setting{"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", most, 0}
	before, err := swapLimit(cgroup)
	if err != nil {
		return fmt.Errorf("limit memory of cgroup %q: %w", cgroup, err)
	}

	open := swap
	open.most1 = -1
	for _, s := range []setting{open, memory, swap} {
		err := limitCgroup(cgroup, s)
		if err == nil || (s != memory && errors.Is(err, ErrNoController)) {
			continue
		}
		if before < noLimit { // what stays as it was does not go to swap either
			kept := swap
			kept.most1 = before
			err = errors.Join(err, limitCgroup(cgroup, kept))
		}
		return err
	}

	return nil
}

// swapLimit returns the limit of memory and swap together that a cgroup of version 1 has; noLimit if it has none.
func swapLimit(cgroup string) (int64, error) {
	all, err := Hierarchies()
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave("memory") })
	if i < 0 || all[i].V2 {
		return noLimit, nil
	}
	limit, err := readLimit(filepath.Join(all[i].Dir, cgroup, "memory.memsw.limit_in_bytes"))
	if errors.Is(err, fs.ErrNotExist) { // the cgroup is not there yet, or the kernel does not count swap
		return noLimit, nil
	}
	return limit, err
}

// CountsSwap reports whether a cgroup can be kept from the machine's swap. With cgroup v1 the kernel may not count it
// (swapaccount=0); cgroup v2 lacks the file where there can be no swap, and runc goes on without.
func CountsSwap() (bool, error) {
	all, err := Hierarchies()
	if err != nil {
		return false, fmt.Errorf("look whether cgroups count swap: %w", err)
	}
	return countsSwap(all)
}

func countsSwap(all []Hierarchy) (bool, error) {
	i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave("memory") })
	if i < 0 || all[i].V2 {
		return i >= 0, nil
	}
	_, err := os.Stat(filepath.Join(all[i].Dir, "memory.memsw.limit_in_bytes"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// LimitSockets bounds in the same way how many bytes the sockets of a cgroup's processes hold in the kernel, and those
// of the cgroups below it that are limited too: what was sent or has come and nobody has read. Only cgroup v1 wants
// that; cgroup v2 counts them as memory, so that nothing is left to do.
//
// Despite its name the limit is of UDP too. The kernel counts those sockets only that are made after it was set, in a
// cgroup that has one of its own.
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html#current-kernel-memory-resources-accounted
func LimitSockets(cgroup string, most int64) error {
	all, err := Hierarchies()
	if err == nil {
		err = limitSockets(all, cgroup, most)
	}
	if err != nil {
		return fmt.Errorf("limit sockets of cgroup %q: %w", cgroup, err)
	}
	return nil
}

func limitSockets(all []Hierarchy, cgroup string, most int64) error {
	if slices.ContainsFunc(all, func(h Hierarchy) bool { return h.V2 }) {
		return nil
	}
	return setting{"memory", "memory.kmem.tcp.limit_in_bytes", "", most, most}.in(all, cgroup)
}

// SocketMemory returns how many bytes the sockets of the whole machine may hold before the kernel begins to keep them
// short
// (https://docs.kernel.org/networking/ip-sysctl.html, tcp_mem: pressure). The setting is the machine's own network
// namespace's; elsewhere it is what the kernel takes without one, a sixteenth of the memory
// (https://github.com/torvalds/linux/blob/v6.12/net/ipv4/tcp.c, tcp_init_mem).
func SocketMemory() (int64, error) {
	const file = "/proc/sys/net/ipv4/tcp_mem"
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		var info unix.Sysinfo_t
		err := unix.Sysinfo(&info)
		return int64(info.Totalram) * int64(info.Unit) / 16, err //nolint:gosec // no machine has 2^63 bytes
	}

	if err != nil {
		return 0, fmt.Errorf("look at what sockets may hold: %w", err)
	}

	var least, pressure int64
	if _, err := fmt.Sscan(string(text), &least, &pressure); err != nil {
		return 0, fmt.Errorf("look at what sockets may hold: read %q: %w", file, err)
	}
	return pressure * int64(os.Getpagesize()), nil
}

// LimitCPU bounds in the same way how much time of processors a cgroup may use, in microseconds for each 100,000 of
// them.
// https://docs.kernel.org/scheduler/sched-bwc.html
func LimitCPU(cgroup string, most int64) error {
	return limitCgroup(cgroup, setting{"cpu", "cpu.cfs_quota_us", "cpu.max", most, most})
}

// unlimited is what cgroup v2 calls a limit that is none; in v1 it is -1.
const unlimited = "max"

// setting is a limit: the controller, its file in cgroup v1 and in v2, and what is written there; -1 is no limit.
type setting struct {
	controller, file1, file2 string
	most1, most2             int64
}

// limitCgroup writes a limit to the file of a controller.
func limitCgroup(cgroup string, s setting) error {
	all, err := Hierarchies()
	if err == nil {
		err = s.in(all, cgroup)
	}
	if err != nil {
		return fmt.Errorf("limit %s of cgroup %q: %w", s.controller, cgroup, err)
	}
	return nil
}

// in writes a limit to the controller's file of a cgroup.
func (s setting) in(all []Hierarchy, cgroup string) error {
	i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave(s.controller) })
	if i < 0 {
		return ErrNoController
	}
	name, most := s.file1, strconv.FormatInt(s.most1, 10)
	if all[i].V2 {
		name, most = s.file2, strconv.FormatInt(s.most2, 10)
	}
	if all[i].V2 && s.most2 < 0 {
		most = unlimited
	}

	if name == "" {
		return ErrNoController // this version of cgroups has no such thing
	}
	dir, err := all[i].Make(cgroup)
	if err != nil {
		return err
	}

	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoController
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(most)
	return errors.Join(err, file.Close())
}

// mayHave reports whether the hierarchy can have a controller. A hierarchy of cgroup v1 is named after its controllers.
func (h Hierarchy) mayHave(controller string) bool {
	return h.V2 || slices.Contains(strings.Split(filepath.Base(h.Dir), ","), controller)
}
