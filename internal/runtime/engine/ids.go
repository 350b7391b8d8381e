package engine

import (
	"fmt"
	"hash/fnv"
	"os"

	"github.com/containerd/containerd/v2/core/mount"

	"mullion.dev/mullion/internal/runtime/userns"
)

// The users of a pod's programs are its own: what Linux counts for a user (descriptors that are under way in Unix
// sockets, watches of epoll, pages of pipes), one pod would else take from all. On disk every container has the same
// users, those of DefaultIDs, so that files which a pod leaves in a volume are the next one's; mounts that map ids are
// between the two.

// podIDs are the ranges of users that pods' programs have. A range is small, so that there are many: programs run as 0
// and 1000 alone.
const (
	podIDsBase = userns.PodsBase
	podIDsSize = 2048
	podIDsMany = (userns.PodsEnd - podIDsBase) / podIDsSize
)

// UserMask leaves of a user that a pod's program has on the machine the one that it has in its container.
const UserMask = podIDsSize - 1

// podRange returns the range of a pod. It is found by the pod's name, so that it needs no record; the odds that two
// pods have one are 1 in 114,560, and then they share what Linux counts, and nothing else.
func podRange(pod string) IDRange {
	name := fnv.New32a()
	_, _ = name.Write([]byte(pod)) // never fails
	return IDRange{Base: podIDsBase + name.Sum32()%podIDsMany*podIDsSize, Size: podIDsSize}
}

// runIDs returns the range that a container's programs have.
func (e *Engine) runIDs(c Container) IDRange { return e.kindOf(c).ids(c) }

// mapping maps ids that are on disk to those of programs, in the form of mount.GetUsernsFD: disk:program:count, several
// of them with commas between.
type mapping string

// layerMapping is that of layers, whose files belong to the ids of a container.
func layerMapping(run IDRange) mapping { return mapping(fmt.Sprintf("0:%d:%d", run.Base, run.Size)) }

// diskMapping is that of what containers have written, and of volumes. All users but those of containers are who they
// are; "" maps none.
func (e *Engine) diskMapping(run IDRange) mapping {
	disk := e.opts.IDs
	if run == disk {
		return ""
	}
	next := disk.Base + run.Size
	return mapping(fmt.Sprintf("0:0:%d,%d:%d:%d,%[5]d:%[5]d:%[6]d", disk.Base, disk.Base, run.Base, run.Size, next,
		podIDsBase-next))
}

// open makes the user namespace by which a mount is given the mapping. "" has none.
func (m mapping) open() (*os.File, error) {
	if m == "" {
		return nil, nil
	}
	users, err := mount.GetUsernsFD(string(m), string(m))
	if err != nil {
		return nil, fmt.Errorf("make user namespace %q for a mount: %w", m, err)
	}
	return users, nil
}
