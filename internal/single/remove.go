package single

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/systemd"
)

// removePatience bounds the wait for the engine's end, which ends its server within stopTimeout.
const removePatience = stopTimeout + 30*time.Second

// Removed is what Remove has found: whether there was anything, and the names of the volumes that it has kept.
type Removed struct {
	Found bool
	Kept  []string
}

// Remove ends the engine with its containers, and removes all that it has on the machine: its data folder too. Volumes
// with a name are data: they stay, unless they are asked for. It is safe to repeat.
func (c *Client) Remove(ctx context.Context, withVolumes bool) (out Removed, err error) {
	p := c.Paths
	if out.Found, err = p.taken(); err != nil || !out.Found {
		return out, err
	}
	if err := os.MkdirAll(p.Run(), 0o711); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, removePatience)
	defer cancel()

	starting, err := hold(ctx, p.starting()) // nobody starts another one
	if err != nil {
		return out, err
	}
	defer starting.Close()
	if err := c.end(ctx); err != nil {
		return out, err
	}

	alive, err := hold(ctx, p.alive()) // the keeper has it until everything has ended
	if err != nil {
		return out, fmt.Errorf("wait for the engine's end: %w", err)
	}
	defer alive.Close()
	if err := p.clearCgroups(ctx); err != nil {
		return out, err
	}

	if out.Kept, err = p.clearVolumes(withVolumes); err != nil {
		return out, err
	}
	return out, errors.Join(p.clearData(len(out.Kept) > 0), os.RemoveAll(p.Run()))
}

// clearVolumes removes volumes, whatever containers have put there: those without a name, and all others if they are
// meant. It returns the names of those that stay: one of which nothing can be read may have a name, and stays too.
func (p Paths) clearVolumes(all bool) (kept []string, err error) {
	v := &volumes{dir: p.volumes()}
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}

	errs := []error{err}
	for _, e := range entries {
		vol, wrong := v.get(e.Name())
		_, none := errors.AsType[*Refusal](wrong) // another error says that its record cannot be read now
		if !none && !all && !vol.Anonymous() && !strings.HasPrefix(e.Name(), ".") {
			kept = append(kept, e.Name())
			continue
		}
		errs = append(errs, v.discard(e.Name()))
	}
	return kept, errors.Join(errs...)
}

// clearData removes the data folder: all but the volumes, if some stay.
func (p Paths) clearData(but bool) error {
	if !but {
		return os.RemoveAll(p.Data)
	}
	entries, err := os.ReadDir(p.Data)
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != versionFile && e.Name() != filepath.Base(p.volumes()) {
			errs = append(errs, os.RemoveAll(filepath.Join(p.Data, e.Name())))
		}
	}
	return errors.Join(errs...)
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
