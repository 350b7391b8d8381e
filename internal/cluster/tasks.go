package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/spec"
)

// taskLimits are how many processes and threads there may be, so that a pod without end of them leaves the machine,
// the control plane and the other nodes able to start a program.
type taskLimits struct {
	// cluster is for all of the cluster: below systemd's scope the control plane too.
	cluster int64
	// node is for each node's pods; on a Linux node for its kubelet and containerd besides.
	node int64
}

const (
	// clusterTasks and nodeTasks are parts of what the machine has, in percent. What is between them is left to the
	// control plane, which shares systemd's scope with the nodes.
	clusterTasks, nodeTasks = 80, 70
	// leastNodeTasks is what a single container may have (internal/runtime/engine/resources.go), however many nodes
	// share the machine.
	leastNodeTasks = 4096
)

// limitsOf divides what a machine has among nodes.
func limitsOf(machine int64, nodes int) taskLimits {
	all := machine * clusterTasks / 100
	node := max(machine*nodeTasks/100/int64(max(nodes, 1)), leastNodeTasks)
	return taskLimits{cluster: all, node: min(node, all)}
}

// machineTasks is how many processes and threads the machine may have: the lower of two limits of the kernel
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

// apply sets the limits of the cluster's and the nodes' cgroups. systemd sets that of the scope it delegates. A machine
// that does not count processes is said in the log; where a kubelet cannot do without, preflight has refused it.
func (l taskLimits) apply(paths layout.Paths, nodes []spec.Node, log *slog.Logger) error {
	parent := paths.CgroupParent()
	limits := map[string]int64{}
	if _, delegated := systemd.Delegated(paths.Scope()); !delegated {
		limits[parent] = l.cluster
	}
	for _, n := range nodes {
		limits[parent+"/"+n.Name] = l.node
	}
	for cgroup, most := range limits {
		err := linuxhost.LimitTasks(cgroup, most)
		if errors.Is(err, linuxhost.ErrTasksNotCounted) {
			log.Warn("pods may take all of the machine's processes", "error", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
