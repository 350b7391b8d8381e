// Package bringup owns what commands that bring up nodes have in common: looking at the machine first, and the flags
// for programs of one's own. The nodes themselves are elsewhere.
package bringup

import (
	"context"
	"errors"
	"fmt"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// Look looks at the machine before a cluster is brought up.
type Look func(context.Context, cluster.PreflightOptions) []preflight.Finding

// Options say what is looked for on this machine for a cluster.
func Options(call *invoke.Call, paths layout.Paths, c spec.Cluster) cluster.PreflightOptions {
	return cluster.PreflightOptions{
		Paths:        paths,
		Nodes:        c.Nodes,
		Kubernetes:   cluster.Versions(c),
		Wine:         c.Wine,
		Networking:   c.Networking,
		Registry:     c.Registry != nil,
		Unprivileged: call.Reads(),
	}
}

// Preflight prints what the machine lacks, a line for each finding. It is an error if the cluster cannot come up
// because of them.
func Preflight(ctx context.Context, call *invoke.Call, look Look, o cluster.PreflightOptions,
	r *progress.Progress,
) error {
	findings := look(ctx, o)
	for _, f := range findings {
		if f.Fatal {
			continue
		}
		r.Emit(progress.Event{
			Type:    progress.Warning,
			Unit:    f.Check,
			Message: f.Problem,
			Remedy:  f.Remedy,
		})

		if !r.Flags().Quiet {
			fmt.Fprintf(call.Env.Err, "warning: %s: %s\n  → %s\n", f.Check, f.Problem, f.Remedy)
		}
	}

	return lacking(preflight.Fatal(findings))
}

// lacking returns the error for findings that keep a cluster from coming up, nil if there are none.
func lacking(fatal []preflight.Finding) error {
	if len(fatal) == 0 {
		return nil
	}

	if len(fatal) == 1 {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    errors.New(fatal[0].Problem),
			Remedy: fatal[0].Remedy,
		}
	}

	var errs []error
	for _, f := range fatal {
		errs = append(errs, fmt.Errorf("%s: %s\n  → %s", f.Check, f.Problem, f.Remedy))
	}

	return &exit.Error{
		Code:   exit.Requirement,
		Err:    fmt.Errorf("this machine lacks what a cluster needs:\n%w", errors.Join(errs...)),
		Remedy: "correct these, then run the command again; `mullion doctor` says more of them",
	}
}
