package agent

import (
	"context"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// sweep empties the emptyDirs that the kubelet is removing, until ctx ends.
func (a *agent) sweep(ctx context.Context, server *cri.Server) {
	emptydirs.Sweeper{
		Drive: a.config.Drive,
		Hold:  server.HoldPod,
		Log:   a.log.With("part", "volumes"),
	}.Run(ctx)
}
