package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

// ImageStores are where images of a cluster are kept: one store for all Windows nodes with Mullion's own runtime, one
// on each Windows node with containerd.exe (Own), and one on each Linux node.
type ImageStores struct {
	Windows bool
	Own     []string
	Linux   []string
}

// Single returns the nodes that have a store of their own.
func (s ImageStores) Single() []string { return slices.Concat(s.Own, s.Linux) }

// System returns the system of the images in a node's own store.
func (s ImageStores) System(node string) string {
	if slices.Contains(s.Own, node) {
		return spec.Windows
	}
	return spec.Linux
}

// ImageStoresOf returns the stores of the named nodes, or of all nodes if none is named. It returns a *NotFoundError if
// the cluster lacks one of the nodes.
func ImageStoresOf(c spec.Cluster, nodes []string) (ImageStores, error) {
	var s ImageStores
	var known []string
	for _, n := range c.Nodes {
		known = append(known, n.Name)
		if len(nodes) > 0 && !slices.Contains(nodes, n.Name) {
			continue
		}
		switch {
		case n.Linux():
			s.Linux = append(s.Linux, n.Name)
		case n.OwnContainerd():
			s.Own = append(s.Own, n.Name)
		default:
			s.Windows = true
		}
	}

	for _, n := range nodes {
		if !slices.Contains(known, n) {
			return s, &NotFoundError{Node: n, Nodes: known}
		}
	}

	return s, nil
}

// For returns the stores that take images of the system; an empty system means both.
func (s ImageStores) For(system string) ImageStores {
	s.Windows = s.Windows && system != spec.Linux
	if system == spec.Linux {
		s.Own = nil
	}
	if system == spec.Windows {
		s.Linux = nil
	}
	return s
}

// ReachImages returns nil if a store answers: the store of the Windows nodes, or, with a name, that node's own store.
// It returns errdefs.ErrUnavailable at once if the store does not answer; containerd's own clients wait ten seconds.
func ReachImages(ctx context.Context, paths layout.Paths, node string) error {
	socket := paths.ContainerdSocket()
	if node != "" {
		store, err := storeOf(paths, node)
		if err != nil {
			return err
		}
		socket = store.Socket
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("connect to containerd: %w: %w", errdefs.ErrUnavailable, err)
	}
	return conn.Close()
}

// LoadError combines the errors of loading one archive into the stores of both systems. If the stores of one system
// took the archive, it is no error that the archive has nothing for the other system.
func LoadError(errs ...error) error {
	if len(errs) > 1 && slices.Contains(errs, nil) {
		errs = slices.DeleteFunc(errs, func(err error) bool { return errdefs.IsNotFound(err) })
	}
	return errors.Join(errs...)
}

// Pulls collects the results of pulling one image for several nodes.
type Pulls struct {
	failed map[string]error // by system; the first error
	pulled map[string]bool
}

// Add records the result of one node, which is of the given system.
func (p *Pulls) Add(system string, err error) {
	switch {
	case err == nil:
		p.pulled = with(p.pulled, system, true)
	case p.failed[system] == nil:
		p.failed = with(p.failed, system, err)
	}
}

func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// Err returns the first error of each system. If nodes of only one system pulled the image, the errors of the other
// system do not count: the image is not for that system.
func (p *Pulls) Err() error {
	var errs []error
	for _, system := range []string{spec.Windows, spec.Linux} {
		if len(p.pulled) != 1 || p.pulled[system] {
			errs = append(errs, p.failed[system])
		}
	}
	return errors.Join(errs...)
}
