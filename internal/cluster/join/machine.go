package join

import (
	"context"
	"net/netip"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
)

// machine is the machine that joins: what a join changes on it, and what it asks of the machine's network.
type machine interface {
	// Prepare makes the data folder.
	Prepare(paths layout.Paths) error
	// Taken says whether somebody on the network at link has the address.
	Taken(ctx context.Context, link string, address netip.Addr) bool
	// Start brings the nodes up and returns when they are Ready. Stop ends what runs of them, Down removes all of it.
	Start(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error)
	Stop(ctx context.Context, paths layout.Paths) error
	Down(ctx context.Context, paths layout.Paths) error
}

// thisMachine is the machine that this process runs on.
type thisMachine struct{}

func (thisMachine) Prepare(paths layout.Paths) error { return paths.Prepare() }

func (thisMachine) Taken(ctx context.Context, link string, address netip.Addr) bool {
	return underlay.Answers(ctx, link, address)
}

func (thisMachine) Start(ctx context.Context, o cluster.UpOptions) (spec.Cluster, error) {
	return cluster.Start(ctx, o)
}

func (thisMachine) Stop(ctx context.Context, paths layout.Paths) error {
	return cluster.Stop(ctx, paths, func(string) {})
}

func (thisMachine) Down(ctx context.Context, paths layout.Paths) error {
	return cluster.Down(ctx, paths, func(string) {})
}
