package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/spec"
)

// limits are what a pod without a limit of its own cannot go beyond, so that it leaves the machine, the control plane
// and the other nodes able to go on.
type limits struct {
	// clusterTasks is how many processes and threads all of the cluster may have: below systemd's scope the control
	// plane too.
	clusterTasks int64
	// nodeTasks is how many each node's pods may have; on a Linux node its kubelet and containerd besides.
	nodeTasks int64
	// nodeMemory is how many bytes of memory they may hold, if cluster.yaml does not say what the node has.
	nodeMemory int64
	// sockets is how many bytes the sockets of all pods together may hold in the kernel, where that is no memory of
	// theirs.
	sockets int64
}

const (
	// clusterTasksPart and nodeTasksPart are parts of what the machine has, in percent. What is between them is left to
	// the control plane, which shares systemd's scope with the nodes.
	clusterTasksPart, nodeTasksPart = 80, 70
	// socketsPart is the part that all pods have of what the machine's sockets hold before the kernel keeps them short,
	// in percent. What is above it is left to the machine's and the control plane's.
	socketsPart = 75
	// leastNodeTasks is what a single container may have (internal/runtime/engine/resources.go), however many nodes
	// share the machine.
	leastNodeTasks = 4096
)

// limitsOf divides what a machine has among nodes: tasks, and bytes of memory. Processes are divided. Memory is not:
// the kubelet of a node that cluster.yaml gives none says that it has all of the machine's.
func limitsOf(tasks, memory int64, nodes int) limits {
	all := tasks * clusterTasksPart / 100
	node := max(tasks*nodeTasksPart/100/int64(max(nodes, 1)), leastNodeTasks)
	return limits{
		clusterTasks: all,
		nodeTasks:    min(node, all),
		nodeMemory:   preflight.NodeMemory(memory),
	}
}

// machineLimits returns the limits on this machine.
func machineLimits(nodes int) (limits, error) {
	tasks, err := machineTasks()
	if err != nil {
		return limits{}, err
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return limits{}, fmt.Errorf("look at the machine's memory: %w", err)
	}

	sockets, err := cgroup.SocketMemory()
	if err != nil {
		return limits{}, err
	}
	most := limitsOf(tasks, int64(info.Totalram)*int64(info.Unit), nodes)
	most.sockets = sockets * socketsPart / 100
	return most, nil
}

// machineTasks returns how many processes and threads the machine may have: the lower of two limits of the kernel
// (https://docs.kernel.org/admin-guide/sysctl/kernel.html#pid-max, #threads-max).
func machineTasks() (int64, error) {
	var least int64
	for _, name := range []string{"pid_max", "threads-max"} {
		text, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err != nil {
			return 0, fmt.Errorf("read the machine's limit of processes: %w", err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the machine's limit of processes %s: %w", name, err)
		}

		if least == 0 || n < least {
			least = n
		}
	}

	return least, nil
}

// apply sets the limits of the cluster's and the nodes' cgroups. systemd sets that of the scope it delegates. What a
// machine's kernel does not count is said in the log; where a kubelet cannot do without, preflight has refused it.
func (l limits) apply(paths layout.Paths, nodes []spec.Node, log *slog.Logger) error {
	parent := paths.CgroupParent()
	if _, delegated := systemd.Delegated(paths.Scope()); !delegated {
		if err := counted(cgroup.LimitTasks(parent, l.clusterTasks), log); err != nil {
			return err
		}
	}
	if err := counted(cgroup.LimitSockets(parent, l.sockets), log); err != nil {
		return err
	}

	for _, n := range nodes {
		if err := l.applyTo(paths, n, log); err != nil {
			return err
		}
	}

	return nil
}

// applyTo sets the limits of a node's cgroup. Where cluster.yaml says what the node has of the machine's memory, its
// host's programs are in the cgroup too.
func (l limits) applyTo(paths layout.Paths, n spec.Node, log *slog.Logger) error {
	node := paths.CgroupParent() + "/" + n.Name
	return errors.Join(
		counted(cgroup.LimitTasks(node, l.nodeTasks), log),
		counted(cgroup.LimitMemory(node, l.memoryOf(n)), log),
	)
}

// memoryOf returns how many bytes of memory a node's cgroup may hold.
func (l limits) memoryOf(n spec.Node) int64 { return cmp.Or(n.Memory.Bytes(), l.nodeMemory) }

// counted says in the log that there is no controller for a limit. Another error it returns.
func counted(err error, log *slog.Logger) error {
	if errors.Is(err, cgroup.ErrNoController) {
		log.Warn("pods without limits may take all that the machine has", "error", err)
		return nil
	}
	return err
}
