package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/partlog"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// agentPause is the time between the first two attempts to reach an agent that has ended (proc.Pace).
const agentPause = 200 * time.Millisecond

// debugLog follows the log of a Windows node's agent, which logs at debug until ctx or this process ends. It begins
// with the last lines that there are, none unless tail says so.
func (a *commands) debugLog(ctx context.Context, paths layout.Paths, node string, tail int) error {
	if unit, err := component.ParseID(node); err == nil && unit == component.OfNode("agent", unit.Node) {
		node = unit.Node // as the part is called without --debug
	}
	if err := a.RequireRoot("changes how much the node's agent logs"); err != nil {
		return err
	}

	if _, err := cluster.LoadHost(paths, node); errors.Is(err, cluster.ErrNotWindows) {
		return exit.Misuse(fmt.Errorf("%w: it has no agent", err), "name a Windows node: `mullion status` lists them")
	} else if err != nil {
		return remedy.HNS(node, remedy.MissingHost(paths, err))
	}

	ended, err := a.holdDebug(ctx, paths, node)
	if err != nil {
		return remedy.HNS(node, err)
	}
	fmt.Fprintf(a.Env.Err, "the agent of node %s logs at debug until this command ends\n", node)

	ctx, cancel := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		a.keepDebug(ctx, paths, node, ended)
	}()

	log := partlog.File(paths.Logs(), component.OfNode("agent", node).String())
	err = partlog.Print(ctx, a.Env.Out, log, max(0, tail), true)
	cancel()
	<-kept
	return err
}

// holdDebug has a node's agent log at debug until ctx ends; ended is closed when it does so no longer.
func (a *commands) holdDebug(ctx context.Context, paths layout.Paths, node string) (ended <-chan struct{}, err error) {
	agent, err := a.agent(paths, node)
	if err != nil {
		return nil, err
	}
	ended, err = agent.HoldLevel(ctx, logging.Debug)
	return ended, unheld(err)
}

// unheld marks errors that mean that nobody listens on an agent's socket.
func unheld(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", winhost.ErrDown, err)
	}
	return err
}

// keepDebug asks an agent that ends, and is started again, anew, until ctx ends.
func (a *commands) keepDebug(ctx context.Context, paths layout.Paths, node string, ended <-chan struct{}) {
	for {
		<-ended
		if ctx.Err() != nil {
			return
		}

		fmt.Fprintf(a.Env.Err, "the agent of node %s has ended; it will log at debug again when it is back\n", node)
		var err error
		for lost := time.Now(); ; {
			if ended, err = a.holdDebug(ctx, paths, node); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(proc.Pace(agentPause, time.Since(lost))):
			}
		}

		fmt.Fprintf(a.Env.Err, "the agent of node %s is back, and logs at debug\n", node)
	}
}
