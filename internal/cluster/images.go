package cluster

import (
	"fmt"
	"strings"

	"github.com/containerd/containerd/v2/client"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/node/registries"
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

// LinuxImages opens the image store of a Linux node. It must be closed.
func LinuxImages(paths layout.Paths, node string) (*linuxnode.Images, error) {
	return linuxnode.OpenImages(node, paths.NodeRun(node))
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
