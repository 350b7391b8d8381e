package wine

import "mullion.dev/mullion/internal/base/cgroup"

// memoryDir is where the hooks and pdh.dll look for a node's memory (guest/c/common/nodememory.h), in a host and in its
// containers.
const memoryDir = "/run/mullion-memory/"

// MemoryMounts show the programs of a host, or of a container, the memory of the cgroup of that name as that of the
// machine: its limit as all that there is, and what it uses. The cgroup is there.
func MemoryMounts(name string) ([]Mount, error) {
	files, err := cgroup.FindMemoryFiles(name)
	if err != nil {
		return nil, err
	}
	return []Mount{
		{Source: files.Limit, Target: memoryDir + "limit", ReadOnly: true},
		{Source: files.Usage, Target: memoryDir + "usage", ReadOnly: true},
		{Source: files.Stat, Target: memoryDir + "stat", ReadOnly: true},
	}, nil
}
