package cli

import (
	"context"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/spec"
)

// calls are what commands ask of packages that reach for the machine or for a cluster that is up. Tests of what is then
// said have others in their place.
type calls struct {
	preflight  func(context.Context, cluster.PreflightOptions) []preflight.Finding
	examine    func(context.Context, cluster.PreflightOptions) []preflight.Check
	up         func(context.Context, cluster.UpOptions) (spec.Cluster, error)
	takeBundle func(context.Context, layout.Paths, []string) (*cluster.OwnBundle, error)
	stop, down func(context.Context, layout.Paths, func(string)) error
	reader.Sources
	hold              invoke.Lock
	await             func(context.Context, layout.Paths) error
	join              func(context.Context, join.Options) (spec.Cluster, error)
	waitingForRights  func(context.Context, layout.Paths, spec.Cluster) []string
	waitingForServing func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError
	leave             func(context.Context, layout.Paths, kubeclient.Interface) error
}

// realCalls returns those of the program.
func realCalls() calls {
	return calls{
		Sources:           reader.RealSources(),
		preflight:         cluster.Preflight,
		examine:           cluster.Examine,
		up:                cluster.Up,
		takeBundle:        cluster.TakeBundle,
		stop:              cluster.Stop,
		down:              cluster.Down,
		await:             cluster.Await,
		join:              join.Join,
		waitingForRights:  join.WaitingForRights,
		waitingForServing: join.WaitingForServing,
		leave:             join.Leave,
	}
}
