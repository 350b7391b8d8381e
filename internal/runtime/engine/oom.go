package engine

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// How Linux chooses what to kill when the machine has no memory left. The kubelet computes a score of each Linux
// container and sends it by CRI; a container's processes are killed before those of a lower score, and before kubelets
// and the control plane, which have 0 or less
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/qos/policy.go#L49).
const (
	bestEffortScore = 1000
	// leastScore is the lowest score of a Burstable container.
	leastScore = 3
)

// oomScore returns the score of a container: by the kubelet's formula for Burstable ones, BestEffort's without limits.
//
// kubelet.exe tells a runtime the limits of processor and memory and nothing of requests, QoS class or priority
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/kuberuntime_container_windows.go#L58).
// So the memory limit stands for the request, which it is where a pod asks for none. Guaranteed containers cannot be
// told from others: they have this score and not -997, which would protect a pod with a small request and a large limit
// before the control plane.
func (r Resources) oomScore(capacity int64) int {
	// a kubelet with a static CPU manager gives every container processors, also one without limits
	r.CPUs = ""
	if r == (Resources{}) || capacity <= 0 {
		return bestEffortScore
	}
	request := min(max(r.MemoryLimit, 0), capacity)
	score := bestEffortScore - int(float64(bestEffortScore)*float64(request)/float64(capacity))
	return min(max(score, leastScore), bestEffortScore-1)
}

// memory is what the engine knows of the node's memory.
type memory struct {
	// capacity is in bytes, that of the machine if the node has all of it.
	capacity int64
	// score is the engine's own: where root lacks CAP_SYS_RESOURCE a container's may not be lower, or runc would fail
	// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/config/config.go#L370).
	score int
}

// lookAtMemory takes what the node has of the machine's memory, 0 for all of it.
func lookAtMemory(capacity int64) (memory, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return memory{}, fmt.Errorf("look at the machine's memory: %w", err)
	}
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return memory{}, fmt.Errorf("look at the machine's memory: %w", err)
	}

	score, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return memory{}, fmt.Errorf("look at the machine's memory: %w", err)
	}
	if capacity == 0 {
		capacity = int64(info.Totalram) * int64(info.Unit)
	}
	return memory{capacity: capacity, score: score}, nil
}

// oomScore returns the score of a container on this machine.
func (e *Engine) oomScore(r Resources) int { return max(r.oomScore(e.memory.capacity), e.memory.score) }
