package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"
)

// layerViews are ID-mapped bind mounts of folders that hold layers: what belongs to id 0 on disk belongs to id 0 of the
// containers in the view. There is one view for each folder, made when first needed. An overlay keeps a reference to
// the view that it was mounted from, so views can be unmounted while containers live.
//
// containerd can ID-map lower layers itself (overlay mount options uidmap and gidmap), but maps the nearest common
// parent of all layers with everything mounted below it: here that would be the whole data folder, with its pinned
// network namespaces and overlays, which cannot be ID-mapped.
type layerViews struct {
	dir string
	ids IDRange

	mu   sync.Mutex
	made map[string]bool
}

func newLayerViews(dir string, ids IDRange) (*layerViews, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of layer views %q: %w", dir, err)
	}
	v := &layerViews{dir: dir, ids: ids, made: map[string]bool{}}
	if err := v.clear(); err != nil {
		return nil, err
	}
	return v, nil
}

// view returns the path of folder's view.
func (v *layerViews) view(folder string) (string, error) {
	sum := sha256.Sum256([]byte(folder))
	// The name is short because all lower paths of an overlay share one page.
	target := filepath.Join(v.dir, hex.EncodeToString(sum[:4]))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made[target] {
		return target, nil
	}
	if err := os.MkdirAll(target, 0o700); err != nil {
		return "", fmt.Errorf("make layer view %q: %w", target, err)
	}
	idmap := fmt.Sprintf("0:%d:%d", v.ids.Base, v.ids.Size)
	userns, err := mount.GetUsernsFD(idmap, idmap)
	if err != nil {
		return "", fmt.Errorf("make user namespace %q for layer view: %w", idmap, err)
	}
	defer userns.Close()
	err = mount.IDMapMountWithAttrs(folder, target, int(userns.Fd()), unix.MOUNT_ATTR_RDONLY, 0)
	if errors.Is(err, unix.EINVAL) {
		return "", fmt.Errorf("mount layers %q ID-mapped (needs Linux 5.19 and ext4, xfs or btrfs): %w", folder, err)
	}
	if err != nil {
		return "", fmt.Errorf("mount layers %q ID-mapped: %w", folder, err)
	}
	v.made[target] = true
	return target, nil
}

// clear unmounts and removes every view in the folder, also those of an earlier process.
func (v *layerViews) clear() error {
	if err := unmountEntries(v.dir); err != nil {
		return fmt.Errorf("remove layer views: %w", err)
	}
	return nil
}

func (v *layerViews) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.made = map[string]bool{}
	return v.clear()
}
