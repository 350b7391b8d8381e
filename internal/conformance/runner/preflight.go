package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/conformance/result"
)

// cluster is the cluster under test.
type cluster struct {
	api     kubeclient.Interface
	address string
	version string
	nodes   []result.Node
	// linux are the names of Linux nodes on which pods without tolerations can be scheduled.
	linux   []string
	windows int
}

// inspect reads the cluster's nodes and versions. The error says what is missing for a run.
func (c Config) inspect(ctx context.Context) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, &Error{
			Err:    fmt.Errorf("read kubeconfig %q: %w", c.Kubeconfig, err),
			Remedy: "name one with --kubeconfig, or bring a cluster up with `mullion up`",
		}
	}

	config.Timeout = 30 * time.Second
	api, err := kubeclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}

	found := &cluster{api: api, address: config.Host}
	version, err := api.ServerVersion(ctx)
	if err != nil {
		return nil, &Error{
			Err:    fmt.Errorf("ask the cluster at %s for its version: %w", config.Host, err),
			Remedy: "is it up? `mullion status` says so for a cluster of Mullion's",
		}
	}

	found.version = version.GitVersion
	list, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	if err := found.judge(list.Items); err != nil {
		return nil, err
	}

	if found.linuxNodes() == 0 {
		c.Progress(
			Progress{Text: "warning: no Linux node; specs that need a Linux helper fail (a node with os: linux in cluster.yaml is enough)"})
	}

	if free, err := freeSpace(c.Results); err == nil && free < c.limit().disk {
		return nil, &Error{
			Err:    fmt.Errorf("%q has %d MB free, a run needs %d", c.Results, free>>20, c.limit().disk>>20),
			Remedy: "make room, or name another folder with --results",
		}
	}

	return found, nil
}

func (c *cluster) linuxNodes() int { return len(c.nodes) - c.windows }

// judge sorts the nodes, and refuses a cluster that cannot run the tests.
func (c *cluster) judge(nodes []corev1.Node) error {
	var unready []string
	for _, n := range nodes {
		info := n.Status.NodeInfo
		c.nodes = append(c.nodes, result.Node{
			Name:    n.Name,
			OS:      info.OperatingSystem,
			Image:   info.OSImage,
			Kernel:  info.KernelVersion,
			Kubelet: info.KubeletVersion,
			Runtime: info.ContainerRuntimeVersion,
		})

		if !ready(n) {
			unready = append(unready, n.Name)
		}

		switch {
		case info.OperatingSystem == "windows":
			c.windows++
		case !slices.ContainsFunc(n.Spec.Taints,
			func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule }):
			c.linux = append(c.linux, n.Name)
		}
	}
	switch {
	case c.windows == 0:
		return &Error{
			Err:    errors.New("the cluster has no Windows node"),
			Remedy: "`mullion up` makes two; upstream's jobs have two as well",
		}

	case len(unready) > 0:
		return &Error{
			Err:    fmt.Errorf("not ready: node %s", strings.Join(unready, ", ")),
			Remedy: "the tests wait for all nodes: `mullion status` and `mullion kubectl describe node` say what is wrong",
		}
	}

	return nil
}

func ready(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// freeSpace returns how many bytes are free on the file system of a folder, which need not exist yet.
func freeSpace(dir string) (uint64, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(dir, &st)
	if errors.Is(err, syscall.ENOENT) {
		err = syscall.Statfs(".", &st)
	}
	if err != nil {
		return 0, fmt.Errorf("measure free space of %q: %w", dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil // a block size is positive
}
