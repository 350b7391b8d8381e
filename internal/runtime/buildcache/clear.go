package buildcache

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/emptydirs"
)

// kept is something that the cache keeps, and may forget.
type kept struct {
	used  time.Time
	bytes int64
	// blob is that of a layer; several have it where different steps made the same.
	blob string
	// forget removes it.
	forget func() error
}

// clear removes what killed builds have left, and what was not used for longest. The caller holds the lock alone.
func (c *Cache) clear(ctx context.Context, most int64) error {
	if err := errors.Join(removeIn(c.path(work), nil), removeIn(c.memory, nil)); err != nil {
		return err
	}

	all, err := c.keptLayers()
	if err != nil {
		return err
	}
	more, err := c.keptFolders(ctx)
	if err != nil {
		return err
	}
	all = append(all, more...)

	total := int64(0)
	for _, k := range all {
		total += k.bytes
	}

	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	named := map[string]bool{}
	for _, k := range all {
		if total <= most {
			named[k.blob] = true
			continue
		}
		if err := k.forget(); err != nil {
			return err
		}
		total -= k.bytes
	}

	return removeIn(c.path(blobs), named)
}

// removeIn removes what is in a folder but for names that are kept.
func removeIn(dir string, keep map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()

	for _, e := range entries {
		if !keep[e.Name()] {
			err = errors.Join(err, beneath.RemoveAll(root, e.Name()))
		}
	}

	return err
}

// keptLayers lists the layers. Records that cannot be read are removed.
func (c *Cache) keptLayers() ([]kept, error) {
	entries, err := os.ReadDir(c.path(layers))
	if err != nil {
		return nil, err
	}

	var all []kept
	last := map[string]int{} // of a blob, in all
	for _, e := range entries {
		name := c.path(layers, e.Name())
		info, err := e.Info()
		if err != nil {
			return nil, err
		}

		var r record
		text, err := beneath.ReadPath(name, mostOfRecord)
		if err != nil || json.Unmarshal(text, &r) != nil || !isSum(e.Name()) || !isSum(r.Blob.Hex) {
			if err := os.Remove(name); err != nil {
				return nil, err
			}
			continue
		}

		k := kept{
			used:   info.ModTime(),
			blob:   r.Blob.Hex,
			bytes:  r.Size,
			forget: func() error { return os.Remove(name) },
		}

		// The blob goes with the last one that has it, which alone counts.
		i, shared := last[k.blob]
		if shared && all[i].used.After(k.used) {
			k.bytes = 0
		} else {
			if shared {
				all[i].bytes = 0
			}
			last[k.blob] = len(all)
		}

		all = append(all, k)
	}

	return all, nil
}

// keptFolders lists the folders of cache mounts.
func (c *Cache) keptFolders(ctx context.Context) ([]kept, error) {
	entries, err := os.ReadDir(c.path(folders))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.path(folders))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()

	var all []kept
	for _, e := range entries {
		if !e.IsDir() {
			continue // a lock
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}

		usage, err := emptydirs.Measure(ctx, root, e.Name(), emptydirs.DefaultBound())
		if err != nil {
			return nil, err
		}

		k := kept{
			used:   info.ModTime(),
			bytes:  usage.Blocks,
			forget: func() error { return removeFrom(c.path(folders), e.Name()) },
		}

		if usage.Over != "" { // a program has filled it to do harm
			if err := k.forget(); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, k)
	}

	return all, nil
}

// removeFrom removes a folder of a folder, whatever others have put there.
func removeFrom(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return beneath.RemoveAll(root, name)
}
