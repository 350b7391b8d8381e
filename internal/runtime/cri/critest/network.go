package critest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/cri"
)

var _ cri.Network = (*Network)(nil)

// Network is a fake of the pods' network. A plain file stands for a pod's network namespace.
type Network struct {
	calls *Calls
	dir   string

	mu    sync.Mutex
	count int
	cidrs string
	pods  map[string]cri.Pod
	// sharing are the containers that run, by their pods.
	sharing map[string][]string
}

// NewNetwork returns a network without pods whose namespaces are files in dir. It records its calls in calls.
func NewNetwork(calls *Calls, dir string) *Network {
	return &Network{
		calls:   calls,
		dir:     dir,
		pods:    map[string]cri.Pod{},
		sharing: map[string][]string{},
	}
}

// NetNS returns the path of a pod's network namespace.
func (n *Network) NetNS(pod string) string { return filepath.Join(n.dir, pod) }

// Setup connects a pod. Its addresses are 10.9.0.<number> and fd00:9::<number>.
func (n *Network) Setup(_ context.Context, pod cri.Pod) (connected cri.PodNetwork, err error) {
	err = n.calls.do("Network.Setup", "", pod.ID, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if err := errors.Join(os.MkdirAll(n.dir, 0o700), os.WriteFile(n.NetNS(pod.ID), nil, 0o600)); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		n.count++
		n.pods[pod.ID] = pod
		connected.NetNS = n.NetNS(pod.ID)
		connected.IPs = []string{fmt.Sprintf("10.9.0.%d", n.count), fmt.Sprintf("fd00:9::%d", n.count)}
		return nil
	})
	return connected, err
}

// Teardown disconnects a pod; one that is not connected is no error.
func (n *Network) Teardown(_ context.Context, pod cri.Pod, _ cri.PodNetwork) error {
	return n.calls.do("Network.Teardown", "", pod.ID, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.pods, pod.ID)
		if err := os.Remove(n.NetNS(pod.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove network namespace: %w", err)
		}
		return nil
	})
}

// Share records that a container of a pod runs, or no longer does.
func (n *Network) Share(_ context.Context, pod cri.Pod, container string, runs bool) error {
	return n.calls.do("Network.Share", "", container, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.sharing[pod.ID] = slices.DeleteFunc(n.sharing[pod.ID], func(id string) bool { return id == container })
		if runs {
			n.sharing[pod.ID] = append(n.sharing[pod.ID], container)
		}
		return nil
	})
}

// Sharing returns the containers of a pod that are recorded to run.
func (n *Network) Sharing(pod string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sharing[pod])
}

// Stats counts the same for every pod that is connected.
func (n *Network) Stats(_ context.Context, pod cri.Pod) (stats cri.NetworkStats, err error) {
	err = n.calls.do("Network.Stats", "", pod.ID, func() error {
		if _, there := n.Pod(pod.ID); !there {
			return fmt.Errorf("count traffic of pod %q: %w", pod.Name, errdefs.ErrNotFound)
		}
		stats = cri.NetworkStats{At: time.Now(), Interfaces: []cri.InterfaceStats{
			{Name: "eth0", RxBytes: 11, TxBytes: 22, RxDropped: 3, TxDropped: 4}, {Name: "eth1", RxBytes: 5},
		}}
		return nil
	})
	return stats, err
}

// SetPodCIDR remembers the range.
func (n *Network) SetPodCIDR(_ context.Context, cidrs string) error {
	return n.calls.do("Network.SetPodCIDR", cidrs, cidrs, func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cidrs = cidrs
		return nil
	})
}

// Ready returns nil unless the test makes the call fail.
func (n *Network) Ready(context.Context) error {
	return n.calls.do("Network.Ready", "", "", func() error { return nil })
}

// Pod returns the pod that the server passed to Setup, and whether it is connected.
func (n *Network) Pod(id string) (pod cri.Pod, connected bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pod, connected = n.pods[id]
	return pod, connected
}

// Pods returns the ids of the connected pods.
func (n *Network) Pods() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.pods))
}

// Reboot does what a reboot of the machine does: every network namespace is gone.
func (n *Network) Reboot() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.pods)
	return os.RemoveAll(n.dir)
}
