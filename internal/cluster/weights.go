package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/spec"
)

// class is what runs by the same weight, when the machine has not enough for all: first the supervisor, then what the
// cluster is reached by, then what serves nodes, and at last the nodes' pods.
type class struct {
	// name is that of layout; "" is each node's.
	name string
	// holds says what is in it.
	holds  string
	weight cgroup.Weight
}

// controlMemory is what the control plane of a small cluster holds.
const controlMemory = 512 << 20

// classes returns the weights of all that a cluster runs, in the order in which it gives way: the last first. That of a
// node is divided once more, between the programs of its host and its pods (cgroup.OwnShare).
func classes() []class {
	return []class{
		{layout.Supervisor, "the supervisor", cgroup.Weight{Share: 2000, Memory: 64 << 20}},
		{
			layout.Control, "etcd, API server, controller manager, scheduler, CoreDNS, metrics-server, registry",
			cgroup.Weight{Share: 1000, Memory: controlMemory},
		},
		{layout.Agents, "containerd with its shims, HNS and CRI server of Windows nodes", cgroup.Weight{Share: 500}},
		{
			layout.Hosts, "kubelet.exe, kube-proxy.exe and wineserver of Windows hosts without memory of their own",
			cgroup.Weight{Share: 300},
		},
		{"", "a node's pods, after the programs of its host", cgroup.Weight{Share: cgroup.UsualShare}},
	}
}

// classesText names the classes in order.
func classesText() string {
	var text []string
	for _, c := range classes() {
		text = append(text, fmt.Sprintf("%s (%d)", c.holds, c.weight.Share))
	}
	return strings.Join(text, "; ")
}

// shares are what all of a cluster has beside the machine's other work.
type shares struct {
	// own is of what is in no node, pods of all that is. Below systemd's scope both are in the scope, which has pods.
	own, pods int64
}

// clusterShares gives pods what one busy thread has, so that they give way to the machine's other work, and what serves
// them as much as four such threads on each processor: it has to be heard beside that work, and wants little for long.
// A cluster that is nice has next to nothing, and its pods least.
func clusterShares(nice bool, processors int) shares {
	if nice {
		return shares{own: 8, pods: 1}
	}
	return shares{
		own:  min(4*cgroup.UsualShare*int64(processors), cgroup.MostShare),
		pods: cgroup.UsualShare,
	}
}

// isNice reports whether all of the cluster gives way to the machine's other work.
func isNice(paths layout.Paths) bool {
	_, err := os.Stat(paths.Nice())
	return err == nil
}

// SetNice has all of the cluster give way to the machine's other work, or not, from now on.
func SetNice(ctx context.Context, paths layout.Paths, nice bool) error {
	var err error
	if nice {
		err = atomicfile.Write(paths.Nice(), nil, 0o600)
	} else if err = os.Remove(paths.Nice()); errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("write whether the cluster gives way: %w", err)
	}

	there, err := cgroup.There(paths.CgroupParent())
	if err != nil || !there {
		return err // the supervisor reads it when it starts
	}
	return weighCluster(ctx, paths)
}

// weighCluster gives all of the cluster its shares of the machine.
func weighCluster(ctx context.Context, paths layout.Paths) error {
	share := clusterShares(isNice(paths), runtime.NumCPU())
	if _, delegated := systemd.Delegated(paths.Scope()); delegated {
		return systemd.Weigh(ctx, paths.Scope(), uint64(share.pods))
	}
	own := cgroup.Weight{Share: share.own}
	for _, c := range classes() {
		own.Memory += c.weight.Memory
	}
	return errors.Join(cgroup.Weigh(paths.OwnCgroup(), own),
		cgroup.Weigh(paths.CgroupParent(), cgroup.Weight{Share: share.pods}))
}

// weigh gives all classes their weights. The cluster works without them: what is refused is said in the log.
func weigh(ctx context.Context, paths layout.Paths, nodes []spec.Node, log *slog.Logger) {
	err := weighCluster(ctx, paths)
	for _, c := range classes() {
		if c.name != "" {
			err = errors.Join(err, cgroup.Weigh(paths.Cgroup(c.name), c.weight))
		}
	}
	for _, n := range nodes {
		err = errors.Join(err, weighNode(paths, n.Name))
	}
	if err != nil {
		log.Warn("a busy machine may keep the control plane waiting: its weights are not set", "error", err)
	}
}

// weighNode gives a node its weight. What is in it, the node's host weighs when it is made.
func weighNode(paths layout.Paths, node string) error {
	all := classes()
	return cgroup.Weigh(paths.CgroupParent()+"/"+node, all[len(all)-1].weight)
}

// weights says who gives way to whom, for those who ask.
func weights(paths layout.Paths) view.Weights {
	share := clusterShares(isNice(paths), runtime.NumCPU())
	w := view.Weights{Nice: isNice(paths)}
	add := func(name string, share int64, holds string) {
		w.Classes = append(w.Classes, view.Class{
			Cgroup: name,
			Share:  share,
			Holds:  holds,
		})
	}

	if paths.OwnCgroup() != paths.CgroupParent() {
		add(paths.OwnCgroup(), share.own, "what serves the cluster, beside the machine's other work")
	}

	add(paths.CgroupParent(), share.pods, "the cluster's pods, beside the machine's other work")
	for _, c := range classes() {
		name := paths.Cgroup(c.name)
		if c.name == "" {
			name = paths.CgroupParent() + "/NODE"
		}
		add(name, c.weight.Share, c.holds)
	}

	return w
}
