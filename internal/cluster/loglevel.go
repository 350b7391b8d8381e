package cluster

import (
	"context"
	"fmt"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/agent/admin"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// SetLogLevel changes how much Mullion's programs in a cluster log. Each program reads the level when it starts. The
// supervisor and the agents of Windows nodes, if they run, are told at once; containerd, its shims and the services of
// bare Linux hosts have it from their next start on.
func SetLogLevel(ctx context.Context, paths layout.Paths, nodes []spec.Node, level logging.Level) error {
	if err := logging.Save(paths.LogLevel(), level); err != nil {
		return fmt.Errorf("write the log level: %w", err)
	}
	// Who starts meanwhile has read the file after it was written.
	if err := supervisor.NewClient(paths.Socket()).SetLogLevel(ctx, level); err != nil && !isNobody(err) {
		return fmt.Errorf("tell the supervisor the log level: %w", err)
	}

	for _, n := range nodes {
		if n.Linux() {
			continue
		}
		err := admin.NewClient(admin.Socket(paths.NodeRun(n.Name))).SetLevel(ctx, level)
		if err != nil && !isNobody(err) {
			return fmt.Errorf("tell node %s the log level: %w", n.Name, err)
		}
	}

	return nil
}
