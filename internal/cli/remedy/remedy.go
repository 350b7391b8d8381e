// Package remedy owns what a person can do about errors of the cluster that several commands meet, and their exit
// codes. An error that only one command meets is that command's.
package remedy

import (
	"errors"
	"fmt"
	"os"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/linuxhost"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/spec"
)

// NoCluster returns the error for commands that need a cluster if this user can see none.
func NoCluster(data string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("read the cluster's state in %q: %w", data, err),
			Remedy: "run it with sudo, or use your own kubeconfig with kubectl",
		}
	}

	return &exit.Error{
		Code:   exit.NotFound,
		Err:    fmt.Errorf("no cluster in %q", data),
		Remedy: "bring one up with `mullion up`, or name its folder with --data-dir",
	}
}

// Store gives the error of a store that does not answer its remedy and exit code.
func Store(err error) error {
	if !errdefs.IsUnavailable(err) {
		return err
	}
	whose := "the cluster's"
	if _, ofNode := errors.AsType[*cluster.NodeStoreError](err); ofNode {
		whose = "the node's"
	}

	return &exit.Error{
		Code:   exit.NotReady,
		Err:    err,
		Remedy: whose + " containerd does not answer: see `mullion status`, or bring the cluster back with `mullion up`",
	}
}

// NotFound adds the exit code to errors about missing things.
func NotFound(err error) error {
	var node *cluster.NotFoundError
	if errors.As(err, &node) || errdefs.IsNotFound(err) {
		return &exit.Error{Code: exit.NotFound, Err: err}
	}
	return err
}

// MissingHost tells a host that is not there, as its node was never brought up or not yet, from a cluster that is not
// there.
func MissingHost(paths layout.Paths, err error) error {
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, winhost.ErrDown) {
		return err
	}
	if _, specErr := os.Stat(paths.Spec()); errors.Is(specErr, os.ErrNotExist) {
		return NoCluster(paths.Data, err)
	}
	return fmt.Errorf("%w: %w", winhost.ErrDown, err)
}

// NodeDown gives the error of a node that is not up its remedy and exit code.
func NodeDown(node string, err error) error {
	if !errors.Is(err, winhost.ErrDown) && !errors.Is(err, linuxhost.ErrDown) {
		return err
	}
	return &exit.Error{
		Code:   exit.NotReady,
		Err:    fmt.Errorf("node %s: %w", node, err),
		Remedy: "`mullion up` brings it back",
	}
}

// HNS gives an error of a node's HNS, or of its agent, its remedy and exit code.
func HNS(node string, err error) error {
	if errors.Is(err, winhost.ErrDown) {
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    fmt.Errorf("node %s: %w", node, err),
			Remedy: "`mullion status` shows what is wrong with it, `mullion up` brings it back",
		}
	}
	if errors.Is(err, cluster.ErrNotWindows) {
		return exit.Misuse(err, "a Linux node has no HNS; name a Windows node")
	}
	return NotFound(err)
}

// NoControlPlane returns the error for an administrator's commands on a machine that joined; nil on the control plane's
// machine.
func NoControlPlane(c spec.Cluster) error {
	if c.Join == nil {
		return nil
	}
	return &exit.Error{
		Code:   exit.NotFound,
		Err:    fmt.Errorf("this machine joined cluster %q and has no administrator's rights in it", c.Name),
		Remedy: "run the command on the control plane's machine (" + c.Join.Server + "), or use kubectl with a kubeconfig from there",
	}
}

// NotJoinable returns an error if the cluster has no advertised address, so that other machines cannot join it.
func NotJoinable(c spec.Cluster) error {
	if c.SeveralMachines() {
		return nil
	}
	return &exit.Error{
		Code:   exit.Conflict,
		Err:    errors.New("other machines cannot join this cluster: it has no advertised address"),
		Remedy: "bring a cluster up with `mullion server --advertise-address ADDRESS`, or with networking.advertiseAddress in cluster.yaml",
	}
}
