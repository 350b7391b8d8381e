package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/spec"
)

// ImageStores are where images of a cluster are kept: one store for all Windows nodes, and one on each Linux node.
type ImageStores struct {
	Windows bool
	Linux   []string
}

// ImageStoresOf are those of the nodes named, or of all nodes. A *NotFoundError says that there is no such node.
func ImageStoresOf(c spec.Cluster, nodes []string) (ImageStores, error) {
	var s ImageStores
	var known []string
	for _, n := range c.Nodes {
		known = append(known, n.Name)
		if len(nodes) > 0 && !slices.Contains(nodes, n.Name) {
			continue
		}
		if n.Linux() {
			s.Linux = append(s.Linux, n.Name)
		} else {
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

// For are those of the stores that take images of one system; "" is both.
func (s ImageStores) For(system string) ImageStores {
	s.Windows = s.Windows && system != spec.Linux
	if system == spec.Windows {
		s.Linux = nil
	}
	return s
}

// ReachImages says at once whether the store of the Windows nodes, or with a name that of a Linux node, answers:
// containerd's own clients wait ten seconds for it. errdefs.ErrUnavailable says that it does not.
func ReachImages(ctx context.Context, paths layout.Paths, linuxNode string) error {
	socket := paths.ContainerdSocket()
	if linuxNode != "" {
		socket = linuxnode.Socket(paths.NodeRun(linuxNode))
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("connect to containerd: %w: %w", errdefs.ErrUnavailable, err)
	}
	return conn.Close()
}

// LoadError is the error of an archive that was handed to the stores of each system, given the error of each: that it
// has nothing for one system is no error where the other's took it.
func LoadError(errs ...error) error {
	if len(errs) > 1 && slices.Contains(errs, nil) {
		errs = slices.DeleteFunc(errs, func(err error) bool { return errdefs.IsNotFound(err) })
	}
	return errors.Join(errs...)
}

// Pulls are what became of an image that each node was to pull.
type Pulls struct {
	failed map[string]error // by system; the first error
	pulled map[string]bool
}

// Add takes the outcome of a node of one system.
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

// Err is the first error of each system. Those of one that pulled nothing count only where the other did not either:
// else the image is not for that system at all.
func (p *Pulls) Err() error {
	var errs []error
	for _, system := range []string{spec.Windows, spec.Linux} {
		if len(p.pulled) != 1 || p.pulled[system] {
			errs = append(errs, p.failed[system])
		}
	}
	return errors.Join(errs...)
}
