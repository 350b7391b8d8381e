package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// replaceable are the parts of a node whose program can be a person's own.
func replaceable() []string { return []string{kubenode.Kubelet, kubenode.KubeProxy} }

// OwnPrograms are the parts of a node whose program is a person's own, and not upstream's.
func OwnPrograms(paths layout.Paths, n spec.Node) []string {
	var own []string
	for _, part := range replaceable() {
		if _, ok := kubenode.OwnProgram(paths.Node(n.Name), kubenode.ProgramName(part, n.OS)); ok {
			own = append(own, part)
		}
	}
	return own
}

// OwnProgramsOf are OwnPrograms of the node of that name. The error is os.ErrNotExist where there is no cluster, and
// NotFoundError where it has no such node.
func OwnProgramsOf(paths layout.Paths, node string) ([]string, error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return nil, err
	}
	n, err := findNode(c, node)
	if err != nil {
		return nil, err
	}
	return OwnPrograms(paths, n), nil
}

// ErrNoSuchPart says that a node has no kube-proxy.
var ErrNoSuchPart = errors.New("the node has none")

// NotReadyError says that a node's part is not ready with the program that it was given.
type NotReadyError struct {
	// Part and Node are the unit's, Former says that it has the program again that it had before.
	Part, Node string
	Former     bool
	Err        error
}

func (e *NotReadyError) Error() string {
	text := fmt.Sprintf("%s of node %s is not ready with that program", e.Part, e.Node)
	if e.Former {
		text += ", and has its former one again"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *NotReadyError) Unwrap() error { return e.Err }

// SetProgram gives a part of a node ("kubelet", "kube-proxy") a copy of the program in file in the place of upstream's,
// or upstream's again where file is "". Where the cluster is up, the part is started again, and running is true; with a
// program with which it does not get ready it has its former program again, and there is a NotReadyError. Other errors
// are those of OwnProgramsOf, ErrNoSuchPart and bundle.WrongProgramError.
func SetProgram(ctx context.Context, paths layout.Paths, node, part, file string) (running bool, err error) {
	c, err := paths.LoadSpec()
	if err != nil {
		return false, err
	}
	n, err := findNode(c, node)
	if err != nil {
		return false, err
	}
	s := setting{
		ctx:    ctx,
		client: supervisor.NewClient(paths.Socket()),
		dir:    kubenode.OwnDir(paths.Node(node)),
		name:   kubenode.ProgramName(part, n.OS),
		unit:   part + "/" + node,
	}
	if there, err := hasUnit(c, paths, s.unit); err != nil {
		return false, err
	} else if !there {
		return false, fmt.Errorf("set the %s of node %s: %w", part, node, ErrNoSuchPart)
	}
	if file != "" {
		if err := bundle.CheckProgram(file, n.OS); err != nil {
			return false, err
		}
	}
	if running, err = s.isRunning(paths); err != nil {
		return false, err
	}
	former, err := s.set(file, running)
	if err != nil && running {
		err = &NotReadyError{Part: part, Node: node, Former: former, Err: err}
	}
	return running, err
}

// hasUnit reports whether a unit is one of a cluster's.
func hasUnit(c spec.Cluster, paths layout.Paths, unit string) (bool, error) {
	plan, err := NewPlan(c, paths)
	if err != nil {
		return false, err
	}
	units, err := Units(plan, slog.New(slog.DiscardHandler))
	return slices.ContainsFunc(units, func(u component.Unit) bool { return u.Name() == unit }), err
}

// setting is one program that is being set.
type setting struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call
	client *supervisor.Client
	// dir is the node's folder of own programs, name the file's there, unit that of the part.
	dir, name, unit string
}

// isRunning reports whether there is a supervisor that runs the unit, or is about to.
func (s setting) isRunning(paths layout.Paths) (bool, error) {
	status, err := s.client.Status(s.ctx)
	if err != nil {
		if locked(paths) {
			return false, fmt.Errorf("ask the supervisor whether %s runs: %w", s.unit, err)
		}
		return false, nil
	}
	return status.Phase == supervisor.PhaseReady || status.Phase == supervisor.PhaseStarting, nil
}

// set puts the program in its place and starts the unit again. former is true where that was in vain and the former
// program runs again.
func (s setting) set(file string, running bool) (former bool, err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return false, err
	}
	unlock, err := lockFolder(s.dir)
	if err != nil {
		return false, err
	}
	defer unlock()
	if file == "" {
		err := os.Remove(s.in(s.name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // it is upstream's already
		}
		if err != nil || !running {
			return false, err
		}
		return false, s.client.Restart(s.ctx, s.unit)
	}
	last := s.in(".last-" + s.name)
	defer func() { _ = os.Remove(last) }() // the next call does it otherwise
	if err := s.replace(file, last); err != nil || !running {
		return false, err
	}
	err = s.client.Restart(s.ctx, s.unit)
	if err == nil || s.ctx.Err() != nil {
		return false, err
	}
	backErr := os.Rename(last, s.in(s.name))
	if errors.Is(backErr, fs.ErrNotExist) {
		backErr = os.Remove(s.in(s.name))
	}
	if backErr == nil {
		backErr = s.client.Restart(s.ctx, s.unit)
	}
	return backErr == nil, errors.Join(err, backErr)
}

// replace puts a copy of the program in its place, whole or not at all, and gives the one that was there the name last.
func (s setting) replace(file, last string) error {
	next := s.in(".next-" + s.name)
	defer func() { _ = os.Remove(next) }() // it is there only after an error, and the next call does it otherwise
	if _, err := filecopy.New(file, next, 0o755); err != nil {
		return err
	}
	if err := os.Remove(last); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(s.in(s.name), last); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(next, s.in(s.name))
}

func (s setting) in(name string) string { return filepath.Join(s.dir, name) }
