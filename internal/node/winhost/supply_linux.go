package winhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// supplyTargets makes the files that Binds are to cover where the machine lacks them, or has links that lead nowhere:
// /etc/hosts of a machine that was never told of one. Only the host sees them.
func (h Host) supplyTargets() error {
	missing := map[string][]string{} // names, by folder
	for _, b := range h.Binds {
		_, err := filepath.EvalSymlinks(b.Target)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at %q: %w", b.Target, err)
		}
		info, err := os.Stat(b.Source)
		if err != nil {
			return fmt.Errorf("look at %q: %w", b.Source, err)
		}
		if info.IsDir() {
			return fmt.Errorf("bind over folder %q: %w", b.Target, fs.ErrNotExist)
		}
		dir := filepath.Dir(b.Target)
		missing[dir] = append(missing[dir], filepath.Base(b.Target))
	}
	for dir, names := range missing {
		if err := supplement(dir, names); err != nil {
			return fmt.Errorf("supply %q with %q: %w", dir, names, err)
		}
	}
	return nil
}

// supplement covers a folder with one that has the same content and empty files of these names besides. Nothing of it
// can be written to.
func supplement(dir string, names []string) (err error) {
	// A folder that every machine has and nobody looks into now. An overlay keeps its layers when their mounts are
	// gone.
	const stage = "/sys"
	if err := unix.Mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Unmount(stage, unix.MNT_DETACH)) }()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(stage, name), nil, 0o644); err != nil {
			return err
		}
	}
	return unix.Mount("overlay", dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, "lowerdir="+stage+":"+dir)
}
