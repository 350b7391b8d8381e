package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// replaceable returns the parts of a node whose program can be a person's own.
func replaceable() []string { return []string{kubenode.Kubelet, kubenode.KubeProxy} }

// OwnPrograms returns the parts of a node whose program is a person's own, and not upstream's.
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

// ProgramChange is what SetProgram changes.
type ProgramChange struct {
	// Part of Node ("kubelet", "kube-proxy") gets a copy of the program in File, or upstream's again where File is "".
	Node, Part, File string
	// Said gets a line for each thing about the program that a person should know, before it is started.
	Said func(string)
}

// SetProgram gives a part of a node a program in the place of upstream's, or upstream's again. Where the cluster is up,
// the part is started again, and running is true; with a program with which it does not get ready it has its former
// program again, and there is a NotReadyError. Other errors are those of OwnProgramsOf, ErrNoSuchPart and those of
// bundle.CheckPart.
func SetProgram(ctx context.Context, paths layout.Paths, p ProgramChange) (running bool, err error) {
	ctx, held, err := Hold(ctx, paths)
	if err != nil {
		return false, err
	}
	defer held.Release()
	c, err := paths.LoadSpec()
	if err != nil {
		return false, err
	}

	n, err := findNode(c, p.Node)
	if err != nil {
		return false, err
	}

	s := setting{
		ctx:    ctx,
		client: supervisor.NewClient(paths.Socket()),
		dir:    kubenode.OwnDir(paths.Node(p.Node)),
		name:   kubenode.ProgramName(p.Part, n.OS),
		unit:   component.OfNode(p.Part, p.Node),
	}

	if there, err := hasUnit(c, paths, s.unit); err != nil {
		return false, err
	} else if !there {
		return false, fmt.Errorf("set the %s of node %s: %w", p.Part, p.Node, ErrNoSuchPart)
	}

	if p.File != "" {
		if err := p.check(c, n); err != nil {
			return false, err
		}
	}
	if running, err = s.isRunning(paths); err != nil {
		return false, err
	}

	former, err := s.set(p.File, running)
	if err != nil && running {
		err = &NotReadyError{
			Part:   p.Part,
			Node:   p.Node,
			Former: former,
			Err:    err,
		}
	}

	return running, err
}

// check refuses a file that is no program for the part, and says what is to be known of one that may be.
func (p ProgramChange) check(c spec.Cluster, n spec.Node) error {
	built, notes, err := bundle.CheckPart(p.File, p.Part, n.OS)
	if err != nil {
		return err
	}
	for _, note := range notes {
		p.Said(note)
	}

	switch {
	case built == "": // a note says so
	case c.Foreign():
		p.Said(fmt.Sprintf("%s is of Kubernetes %s, which is not compared with the control plane's: Mullion did not make "+
			"this cluster", p.File, built))
	default:
		if err := bundle.Skew(cmp.Or(c.KubernetesVersion, version.Kubernetes), built); err != nil {
			p.Said(err.Error() + "; upstream does not support that: https://kubernetes.io/releases/version-skew-policy/")
		}
	}

	return nil
}

// hasUnit reports whether a unit is one of a cluster's.
func hasUnit(c spec.Cluster, paths layout.Paths, unit component.ID) (bool, error) {
	plan, err := NewPlan(c, paths)
	if err != nil {
		return false, err
	}
	units, err := Units(plan, slog.New(slog.DiscardHandler))
	return slices.ContainsFunc(units, func(u component.Unit) bool { return u.ID() == unit }), err
}

// setting is one program that is being set.
type setting struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call
	client *supervisor.Client
	// dir is the node's folder of own programs, name the file's there, unit the part's.
	dir, name string
	unit      component.ID
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
