package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/sam"
)

// samHive is the file in a layer with its changes of HKLM\SAM.
const samHive = "Hives/Sam_Delta"

// Account finds an account that the layers of an image add; ok is false if there is none of that name. id is a new
// container's. A hive that cannot be read adds none, and the node's log says why.
func (e *Engine) Account(ctx context.Context, id, chainID, name string) (a sam.Account, ok bool, err error) {
	ctx, release, err := e.client.WithLease(ctx) // nothing else refers to the view: it would be collected at any moment
	if err != nil {
		return a, false, fmt.Errorf("lease a view of layers for account %q: %w", name, err)
	}
	defer func() { _ = release(context.WithoutCancel(ctx)) }()

	snapshots := e.client.SnapshotService(e.opts.Snapshotter)
	key := "accounts-" + id
	mounts, err := snapshots.View(ctx, key, chainID)
	if err != nil {
		return a, false, fmt.Errorf("look at layers for account %q: %w", name, err)
	}
	defer func() { err = errors.Join(err, snapshots.Remove(context.WithoutCancel(ctx), key)) }()
	o, err := overlayOf(mounts)
	if err != nil {
		return a, false, err
	}

	layers := o.lower
	if len(layers) == 0 {
		layers = []string{o.upper} // a view of one layer is bound, not overlaid
	}
	e.hives.Lock() // one at a time, for its memory
	defer e.hives.Unlock()

	var accounts sam.Accounts
	for _, layer := range slices.Backward(layers) {
		hive, err := beneath.ReadIn(layer, samHive, maxHive)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && isEmpty(hive)) {
			continue
		}

		if err == nil {
			err = accounts.Apply(hive)
		}
		if err != nil {
			e.opts.Log.Warn("accounts of an image not all read", "container", id, "layer", layer, "error", err)
			if errors.Is(err, regf.ErrTooLarge) {
				break
			}
		}
	}

	a, ok = accounts.Find(name)
	return a, ok, nil
}
