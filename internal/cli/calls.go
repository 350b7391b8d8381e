package cli

import (
	"context"
	"io"
	"time"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/hold"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// hnsConn is a connection to a node's HNS.
type hnsConn interface {
	hcn.Caller
	io.Closer
}

// calls are what commands ask of packages that reach for the machine or for a cluster that is up. Tests of what is then
// said have others in their place.
type calls struct {
	preflight         func(context.Context, cluster.PreflightOptions) []preflight.Finding
	examine           func(context.Context, cluster.PreflightOptions) []preflight.Check
	up                func(context.Context, cluster.UpOptions) (spec.Cluster, error)
	takeBundle        func(context.Context, layout.Paths, []string) (*cluster.OwnBundle, error)
	setProgram        func(context.Context, layout.Paths, cluster.ProgramChange) (bool, error)
	nodeSwitch        func(layout.Paths) (nodeSwitch, error)
	stop, down        func(context.Context, layout.Paths, func(string)) error
	hold              func(context.Context, layout.Paths) (context.Context, *hold.Held, error)
	client            func(layout.Paths) (kubeclient.Interface, error)
	await             func(context.Context, layout.Paths) error
	observe           func(context.Context, layout.Paths, spec.Cluster) health.Observed
	view              func(layout.Paths) view.Client
	join              func(context.Context, join.Options) (spec.Cluster, error)
	waitingForRights  func(context.Context, layout.Paths, spec.Cluster) []string
	waitingForServing func(context.Context, layout.Paths, spec.Cluster) []*kubeadm.ServingError
	leave             func(context.Context, layout.Paths, kubeclient.Interface) error
	netTest           func(context.Context, layout.Paths, nettest.Config) (nettest.Report, error)
	hns               func(context.Context, layout.Paths, string) (hnsConn, error)
	agent             func(layout.Paths, string) (*admin.Client, error)
	disks             func(context.Context, layout.Paths, string, hostdisk.Request) (hostdisk.Answer, error)
	proxyPage         func(context.Context, layout.Paths, string, string) ([]byte, error)
	watchEvery        time.Duration
	apiPatience       time.Duration // bounds what is asked of the API
}

// realCalls returns those of the program.
func realCalls() calls {
	return calls{
		preflight:         cluster.Preflight,
		examine:           cluster.Examine,
		up:                cluster.Up,
		takeBundle:        cluster.TakeBundle,
		setProgram:        cluster.SetProgram,
		nodeSwitch:        openNodeSwitch,
		stop:              cluster.Stop,
		down:              cluster.Down,
		hold:              cluster.Hold,
		await:             cluster.Await,
		client:            cluster.Client,
		observe:           cluster.Observe,
		view:              func(paths layout.Paths) view.Client { return view.NewClient(paths.View()) },
		join:              join.Join,
		waitingForRights:  join.WaitingForRights,
		waitingForServing: join.WaitingForServing,
		leave:             join.Leave,
		netTest:           cluster.NetTest,
		hns: func(ctx context.Context, paths layout.Paths, node string) (hnsConn, error) {
			return cluster.HNS(ctx, paths, node)
		},
		agent:       cluster.Agent,
		disks:       cluster.Disks,
		proxyPage:   cluster.ProxyEndpoint,
		watchEvery:  watchEvery,
		apiPatience: apiPatience,
	}
}
