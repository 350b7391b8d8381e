package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/spec"
)

// observeTimeout bounds each look at a part of the cluster. The supervisor bounds by itself what it asks.
const observeTimeout = 8 * time.Second

// Observe looks at all parts of a cluster at once, within seconds, whether the cluster is up or not. It reports what it
// could not see.
func Observe(ctx context.Context, paths layout.Paths, c spec.Cluster) health.Observed {
	o := health.Observed{
		At:    time.Now(),
		Spec:  c,
		Data:  paths.Data,
		HNS:   map[string]health.HNS{},
		Load:  map[string]admission.Load{},
		Own:   map[string][]string{},
		Disks: disks(paths, c),
	}

	for _, n := range c.Nodes {
		o.Own[n.Name] = OwnPrograms(paths, n)
	}

	ctx, cancel := context.WithTimeout(ctx, 2*observeTimeout)
	defer cancel()

	var looks sync.WaitGroup
	looks.Go(func() {
		status, err := supervisor.NewClient(paths.Socket()).Health(ctx)
		if err != nil {
			o.SupervisorError, o.Locked = err.Error(), locked(paths)
			return
		}
		o.Supervisor = &status
	})

	looks.Go(func() {
		if err := observeAPI(ctx, paths, c, &o); err != nil {
			o.APIError = err.Error()
		}
	})

	if c.Networking.DualStack() {
		looks.Go(func() {
			out, err := hasWayOut6(paths, c)
			if err != nil {
				o.WayOut6Error = err.Error()
			}
			o.WayOut6 = out
		})
	}

	var mu sync.Mutex
	for _, n := range c.Nodes {
		if n.Linux() {
			continue
		}

		looks.Go(func() {
			h := observeHNS(ctx, paths, n.Name)
			load, err := admin.NewClient(admin.Socket(paths.NodeRun(n.Name))).Load(ctx)
			mu.Lock()
			defer mu.Unlock()
			o.HNS[n.Name] = h
			if err == nil { // else the picture says that the agent does not answer
				o.Load[n.Name] = load
			}
		})
	}

	looks.Wait()
	return o
}

// observeAPI reads nodes and pods, and policies that are not carried out, all from the API server's memory: that is new
// enough, and does not wait for etcd.
func observeAPI(ctx context.Context, paths layout.Paths, c spec.Cluster, o *health.Observed) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	if c.Join != nil {
		return observeJoined(ctx, paths, c, o)
	}
	client, err := clientFor(paths.AdminKubeconfig())
	if err != nil {
		return err
	}

	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}

	o.Nodes, o.Pods = nodes.Items, pods.Items
	if c.Networking.Policies() {
		return nil
	}
	policies, err := client.NetworkingV1().NetworkPolicies(metav1.NamespaceAll).List(ctx,
		metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("list network policies: %w", err)
	}

	o.Policies = len(policies.Items)
	return nil
}

// observeJoined reads the nodes of a machine that joined and their pods, each with the node's own rights: a node may
// not see others' pods.
func observeJoined(ctx context.Context, paths layout.Paths, c spec.Cluster, o *health.Observed) error {
	clients := NodeClients(paths, c)
	for _, name := range c.NodeNames() {
		client, err := clients.Client(name)
		if err != nil {
			return err
		}
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil {
			return fmt.Errorf("get node %q: %w", name, err)
		}

		pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
			ResourceVersion: "0", FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String(),
		})
		if err != nil {
			return fmt.Errorf("list the pods of node %q: %w", name, err)
		}
		o.Nodes, o.Pods = append(o.Nodes, *node), append(o.Pods, pods.Items...)
	}

	return nil
}

func observeHNS(ctx context.Context, paths layout.Paths, node string) health.HNS {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	d, err := admin.NewClient(admin.Socket(paths.NodeRun(node))).Diagnose(ctx)
	if err != nil {
		return health.HNS{Error: err.Error()}
	}
	return health.HNS{
		Differences: d.Differences,
		Repairs:     d.Repairs.Count,
		Repaired:    d.Repairs.Found,
		Withheld:    d.Withheld,
	}
}

// disks returns the file systems of the data folder and of the nodes' folders, each once.
func disks(paths layout.Paths, c spec.Cluster) []health.Disk {
	places := []string{paths.Data, filepath.Dir(paths.ContainerdRoot()), paths.Etcd()}
	for _, n := range c.Nodes {
		places = append(places, paths.Node(n.Name), filepath.Join(paths.Node(n.Name), "root"))
	}

	var all []health.Disk
	seen := map[uint64]bool{}
	for _, place := range places {
		var file unix.Stat_t
		var fs unix.Statfs_t
		if unix.Stat(place, &file) != nil || seen[file.Dev] || unix.Statfs(place, &fs) != nil {
			continue
		}

		seen[file.Dev] = true
		all = append(all, health.Disk{
			Path: place,
			Free: fs.Bavail * uint64(fs.Bsize),
			Size: fs.Blocks * uint64(fs.Bsize),
		})
	}

	return all
}
