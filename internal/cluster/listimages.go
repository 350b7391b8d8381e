package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
)

// NodeStoreError is an error of the store that a node has of its own.
type NodeStoreError struct {
	Node string
	Err  error
}

func (e *NodeStoreError) Error() string { return fmt.Sprintf("images of node %s: %v", e.Node, e.Err) }

// Unwrap returns the cause.
func (e *NodeStoreError) Unwrap() error { return e.Err }

// ListImages returns the images of a node, or of all nodes for "". An image in several nodes' own stores is returned
// once.
func ListImages(ctx context.Context, paths layout.Paths, node string) ([]image.Info, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return nil, err
	}
	var nodes []string
	if node != "" {
		nodes = []string{node}
	}

	from, err := ImageStoresOf(c, nodes)
	if err != nil {
		return nil, err
	}

	list := []image.Info{}
	if from.Windows {
		if list, err = windowsImages(ctx, paths, node); err != nil {
			return nil, err
		}
	}

	for _, name := range from.Single() {
		found, err := nodeImages(ctx, paths, name, from.System(name))
		if err != nil {
			return nil, &NodeStoreError{Node: name, Err: err}
		}

		for _, f := range found {
			same := func(other image.Info) bool {
				return other.ID == f.ID && slices.Equal(other.RepoTags, f.RepoTags)
			}
			if !slices.ContainsFunc(list, same) {
				list = append(list, f)
			}
		}
	}

	return list, nil
}

func windowsImages(ctx context.Context, paths layout.Paths, node string) ([]image.Info, error) {
	if err := ReachImages(ctx, paths, ""); err != nil {
		return nil, err
	}
	store, closeStore, err := Images(paths, node)
	if err != nil {
		return nil, err
	}
	list, err := store.List(ctx)
	return list, errors.Join(err, closeStore())
}

func nodeImages(ctx context.Context, paths layout.Paths, node, system string) ([]image.Info, error) {
	if err := ReachImages(ctx, paths, node); err != nil {
		return nil, err
	}
	store, err := NodeImages(paths, node)
	if err != nil {
		return nil, err
	}
	list, err := infos(ctx, store, system)
	return list, errors.Join(err, store.Close())
}

func infos(ctx context.Context, store *nodeimages.Images, system string) ([]image.Info, error) {
	found, err := store.List(ctx)
	list := make([]image.Info, 0, len(found))
	for _, f := range found {
		info := image.Info{
			ID:          f.GetId(),
			RepoTags:    f.GetRepoTags(),
			RepoDigests: f.GetRepoDigests(),
			Size:        f.GetSize(),
			Pinned:      f.GetPinned(),
		}
		info.Spec.OS = system
		list = append(list, info)
	}

	return list, err
}
