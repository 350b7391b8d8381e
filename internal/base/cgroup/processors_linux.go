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
	"time"

	"golang.org/x/sys/unix"
)

// Processors says where the kernel takes the share of processors that a cgroup has, and where it counts their time. It
// is for callers that ask often: the machine's mounts, which grow with its containers, are read once.
type Processors struct {
	// shares and times are the files' folders and names; both have the cgroup's name between them.
	shares, times file
	v2            bool
}

// file is one of a cgroup, below the root of a hierarchy.
type file struct{ root, name string }

func (f file) in(cgroup string) string { return filepath.Join(f.root, cgroup, f.name) }

// FindProcessors finds them. Without the controllers the error is ErrNoController.
func FindProcessors() (Processors, error) {
	all, err := Hierarchies()
	if err != nil {
		return Processors{}, fmt.Errorf("look how processors are weighed: %w", err)
	}
	return processorsOf(all)
}

func processorsOf(all []Hierarchy) (Processors, error) {
	find := func(controller string) (Hierarchy, error) {
		i := slices.IndexFunc(all, func(h Hierarchy) bool { return h.mayHave(controller) })
		if i < 0 {
			return Hierarchy{}, fmt.Errorf("look how processors are weighed: %q: %w", controller, ErrNoController)
		}
		return all[i], nil
	}

	weighed, err := find("cpu")
	if err != nil {
		return Processors{}, err
	}
	if weighed.V2 {
		return Processors{file{weighed.Dir, "cpu.weight"}, file{weighed.Dir, "cpu.stat"}, true}, nil
	}

	counted, err := find("cpuacct")
	if err != nil {
		return Processors{}, err
	}
	return Processors{file{weighed.Dir, "cpu.shares"}, file{counted.Dir, "cpuacct.usage"}, false}, nil
}

// Weigh gives a cgroup its share, as Weight has it, and nothing else. One that is not there is not made; the error is
// fs.ErrNotExist.
func (p Processors) Weigh(cgroup string, share int64) error {
	if !p.v2 {
		share = shares1(share)
	}
	f, err := os.OpenFile(p.shares.in(cgroup), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strconv.FormatInt(share, 10))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("weigh cgroup %q: %w", cgroup, err)
	}

	return nil
}

// Time returns how much of all processors a cgroup has had since it was made, with all below it. If it is not there,
// the error is fs.ErrNotExist. https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
// https://docs.kernel.org/admin-guide/cgroup-v1/cpuacct.html
func (p Processors) Time(cgroup string) (time.Duration, error) {
	text, err := os.ReadFile(p.times.in(cgroup))
	if err != nil {
		return 0, fmt.Errorf("read processor time of cgroup %q: %w", cgroup, err)
	}
	number, unit := strings.TrimSpace(string(text)), time.Nanosecond
	if p.v2 {
		number, unit = lineOf(string(text), "usage_usec"), time.Microsecond
	}

	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read processor time of cgroup %q: %w", cgroup, err)
	}
	return time.Duration(n) * unit, nil
}

// lineOf returns what follows a key in a file of lines with a key each, "" without the key.
func lineOf(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// IsGone reports whether an error says that a cgroup is not there, or was removed meanwhile.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }
