package parts

import (
	"context"

	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
)

// Containerd is the engine's process with its configuration.
type Containerd struct {
	*proc.Process
	Daemon engine.DaemonConfig
	Config string // the file's path
}

// Start writes the configuration and starts the daemon.
func (c *Containerd) Start(ctx context.Context) error {
	if err := c.Daemon.Write(c.Config); err != nil {
		return err
	}
	return c.Process.Start(ctx)
}
