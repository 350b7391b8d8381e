package cluster

import (
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/client"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/node/registries"
	"mullion.dev/mullion/internal/node/winnode"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

// Images opens the image store of the Windows nodes of the cluster that is up in a data folder. With a node's name, the
// store shows only the images that fit the node's Windows build. The caller must call close.
func Images(paths layout.Paths, node string) (store *image.Store, closeStore func() error, err error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return nil, nil, err
	}

	cfg := image.Config{Handlers: image.DefaultHandlers()}
	if node != "" {
		n, err := findNode(c, node)
		if err == nil && n.Linux() {
			err = fmt.Errorf("%w: %s", ErrNotWindows, node)
		}
		if err != nil {
			return nil, nil, err
		}

		build, err := n.Build()
		if err != nil {
			return nil, nil, err
		}
		cfg.OSVersion = build.Version.String()
		if c.Registries != nil {
			dir := agentconfig.RegistriesDir(paths.Node(node))
			cfg.Registries = registries.ForWindows(dir, registries.Auths(*c.Registries))
		}
	}

	conn, err := client.New(paths.ContainerdSocket(), client.WithDefaultNamespace(layout.EngineNamespace))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to containerd: %w", err)
	}
	store, err = image.New(conn, layout.EngineNamespace, cfg)
	if err != nil {
		return nil, nil, err
	}

	return store, conn.Close, nil
}

// NodeImages opens the image store of a node that has one of its own: a Linux node, or a Windows node with
// containerd.exe. It must be closed.
func NodeImages(paths layout.Paths, node string) (*nodeimages.Images, error) {
	store, err := storeOf(paths, node)
	if err != nil {
		return nil, err
	}
	return nodeimages.Open(store)
}

// storeOf returns the store that a node has of its own.
func storeOf(paths layout.Paths, node string) (nodeimages.Store, error) {
	run := paths.NodeRun(node)
	c, err := paths.LoadSpec()
	if err != nil {
		return nodeimages.Store{}, err
	}
	n, err := findNode(c, node)
	if err != nil {
		return nodeimages.Store{}, err
	}
	if n.Linux() {
		return nodeimages.Linux(node, linuxnode.Socket(run)), nil
	}

	build, err := n.Build()
	if err != nil {
		return nodeimages.Store{}, err
	}

	return nodeimages.Windows(node, winnode.ContainerdSocket(run), build.Version.String()), nil
}

// NotFoundError says that the cluster has no such node.
type NotFoundError struct {
	Node  string
	Nodes []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no node %q; there are %s", e.Node, strings.Join(e.Nodes, ", "))
}

func findNode(c spec.Cluster, name string) (spec.Node, error) {
	missing := &NotFoundError{Node: name}
	for _, n := range c.Nodes {
		if n.Name == name {
			return n, nil
		}
		missing.Nodes = append(missing.Nodes, n.Name)
	}
	return spec.Node{}, missing
}
