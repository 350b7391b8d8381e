package engine

import (
	"runtime"
	"strconv"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Resources are a Windows container's limits as CRI gives them; zero means no limit.
type Resources struct {
	// CPUCount is a number of whole processors.
	CPUCount int64 `json:"cpuCount,omitempty"`
	// CPUMaximum is a share of all of the machine's processors in hundredths of a percent: 10000 is all of them
	// (https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-jobobject_cpu_rate_control_information).
	CPUMaximum int64 `json:"cpuMaximum,omitempty"`
	// CPUShares is a weight from 1 to 10000; a container without one has 5000.
	CPUShares int64 `json:"cpuShares,omitempty"`
	// MemoryLimit is in bytes.
	MemoryLimit int64 `json:"memoryLimit,omitempty"`
	// CPUs are the processors that the container may use, by the kernel's numbers and in its form, "0-2,7"
	// (https://man7.org/linux/man-pages/man7/cpuset.7.html#FORMATS); "" means all. Where there is no cpuset, a container
	// with some does not start.
	CPUs string `json:"cpus,omitempty"`
}

const (
	cpuPeriod = 100_000 // microseconds, the kernel's default (Documentation/scheduler/sched-bwc.rst)
	minQuota  = 1_000   // the smallest quota that the kernel takes
	// overhead is what the container's own Windows, wineserver and mullion-init, may use beside the programs; on
	// Windows the kernel's share is not charged to the container.
	overhead = 64 << 20
	// mostTasks is how many processes and threads a pod may have, its containers' own Windows' among them. Without a
	// limit one container could take all that the machine has (kernel.pid_max). A .NET or JVM server has some hundreds
	// of threads. Kubelets limit Linux pods in the same way (podPidsLimit).
	mostTasks = 4096
)

// tmpSize returns the size option of a container's /tmp, in which Wine keeps what Windows backs by its page file,
// sections without a file, and where programs may write: without one a container could fill half of the machine's
// memory, from which no killed program frees it. With a memory limit all of it may be there, so that a full /tmp is an
// error and the rest of the container's memory is left to its Windows. What lies there counts against the limit
// (https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-ownership). It stays as it is when the limit is changed.
//
// node is what the container's node has of the machine's memory, 0 for all of it.
func (r Resources) tmpSize(node int64) string {
	if r.MemoryLimit > 0 {
		return "size=" + strconv.FormatInt(max(r.MemoryLimit, overhead), 10)
	}
	if node > 0 {
		return "size=" + strconv.FormatInt(node/4, 10)
	}
	return "size=25%"
}

// cgroup returns the same limits for Linux. As in HCS, the count of processors goes before the maximum, and the maximum
// before the weight
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/kuberuntime_container_windows.go#L60).
//
// If the machine counts swap, a container gets none of it: with it a limit of memory would be none. Linux pods are
// limited so too
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/opts/spec_linux_opts.go#L404).
func (r Resources) cgroup(swap bool) *specs.LinuxResources {
	return r.cgroupFor(int64(runtime.NumCPU()), swap)
}

func (r Resources) cgroupFor(processors int64, swap bool) *specs.LinuxResources {
	cpu := &specs.LinuxCPU{Cpus: r.CPUs}
	period := uint64(cpuPeriod)
	quota := int64(-1)
	switch {
	case r.CPUCount > 0:
		quota = min(r.CPUCount, processors) * cpuPeriod
	case r.CPUMaximum > 0:
		quota = max(processors*cpuPeriod*min(r.CPUMaximum, 10_000)/10_000, minQuota)
	}

	cpu.Period, cpu.Quota = &period, &quota
	shares := uint64(1024)
	if quota < 0 && r.CPUShares > 0 {
		shares = max(uint64(min(r.CPUShares, 10_000))*1024/5000, 2)
	}

	cpu.Shares = &shares
	limit := int64(-1)
	if r.MemoryLimit > 0 {
		limit = r.MemoryLimit + overhead
	}
	memory := &specs.LinuxMemory{Limit: &limit}
	if swap {
		memory.Swap = &limit // of both together
	}

	tasks := int64(mostTasks)
	return &specs.LinuxResources{
		CPU:    cpu,
		Memory: memory,
		Pids:   &specs.LinuxPids{Limit: &tasks},
	}
}
