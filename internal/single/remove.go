package single

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/systemd"
)

// removePatience bounds the wait for the engine's end, which ends its server within stopTimeout.
const removePatience = stopTimeout + 30*time.Second

// Remove ends the engine with its containers, and removes all that it has on the machine: its data folder too. It
// reports whether there was anything, and is safe to repeat.
func (c *Client) Remove(ctx context.Context) (found bool, err error) {
	p := c.Paths
	if found, err = p.taken(); err != nil || !found {
		return found, err
	}
	if err := os.MkdirAll(p.Run(), 0o711); err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeout(ctx, removePatience)
	defer cancel()

	starting, err := hold(ctx, p.starting()) // nobody starts another one
	if err != nil {
		return true, err
	}
	defer starting.Close()
	if err := c.end(ctx); err != nil {
		return true, err
	}

	alive, err := hold(ctx, p.alive()) // the keeper has it until everything has ended
	if err != nil {
		return true, fmt.Errorf("wait for the engine's end: %w", err)
	}
	defer alive.Close()
	if err := p.clearCgroups(ctx); err != nil {
		return true, err
	}

	return true, errors.Join(os.RemoveAll(p.Data), os.RemoveAll(p.Run()))
}

// taken reports whether the data folder is one of single containers. Another folder is never removed.
func (p Paths) taken() (bool, error) {
	_, err := os.Stat(filepath.Join(p.Data, versionFile))
	if err == nil {
		return true, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return false, err
	}

	entries, err := os.ReadDir(p.Data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case len(entries) == 0:
		return false, nil
	}

	return false, fmt.Errorf("remove folder %q: `mullion run` did not make it", p.Data)
}

// end asks the engine to end, if one lives.
func (c *Client) end(ctx context.Context) error {
	to, err := unixsocket.Dialer(c.Paths.Engine())(ctx, "", "")
	if err != nil {
		return nil // none serves; one that is about to end has its lock until it has
	}
	defer to.Close()
	if err := json.NewEncoder(to).Encode(Request{End: true}); err != nil {
		return fmt.Errorf("ask the engine to end: %w", err)
	}
	return nil
}

// clearCgroups ends what an engine that was killed has left, as a last look.
func (p Paths) clearCgroups(ctx context.Context) error {
	if err := cluster.KillCgroups(ctx, p.CgroupParent()); err != nil {
		return err
	}
	if _, delegated := systemd.Delegated(p.Scope()); delegated {
		return nil // it goes with its last process
	}
	return errors.Join(cgroup.Remove(p.Cgroup(gatewayGroup)), cgroup.Remove(p.Cgroup(layout.Supervisor)),
		cgroup.Remove(p.OwnCgroup()))
}
