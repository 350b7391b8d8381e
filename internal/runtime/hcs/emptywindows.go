package hcs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
)

// A base layer that programs make of nothing has a folder Windows with empty files of the registry, and nothing else
// (hcsshim's ConvertToBaseLayer). Programs of the host find it by its name, and nothing in it is a container's, which
// has Wine's own: for a container it is hidden, and keeps its name. In all other layers the folder is called as in
// Wine's C:.
const emptyWindows = files + "/Windows"

// emptyHive is the size of an empty file of the registry.
const emptyHive = 8192

// mostHives is more than Windows has files of the registry.
const mostHives = 64

// hasEmptyWindows reports whether the folder Windows of a layer has nothing but empty files of the registry.
func hasEmptyWindows(folder *os.Root) bool {
	at := emptyWindows
	for _, below := range []string{"System32", "config"} {
		entries, err := beneath.ReadFolder(folder, at, 1)
		if err != nil || len(entries) != 1 || !entries[0].IsDir() || !strings.EqualFold(entries[0].Name(), below) {
			return false
		}
		at = path.Join(at, entries[0].Name())
	}

	hives, err := beneath.ReadFolder(folder, at, mostHives)
	if err != nil {
		return false
	}
	for _, h := range hives {
		info, err := h.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > emptyHive {
			return false
		}
	}

	return true
}

// openForContainer opens the folders of layers for a container, as open does, each without an empty Windows.
func (l *layers) openForContainer(paths []string) (opened []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(opened)
		}
	}()

	for _, path := range paths {
		empty := false
		err := l.within(path, func(folder *os.Root) error {
			empty = hasEmptyWindows(folder)
			return nil
		})
		if err != nil {
			return opened, err
		}
		if empty {
			hides, err := l.hideWindows()
			if err != nil {
				return opened, err
			}
			opened = append(opened, hides)
		}

		layer, err := l.open([]string{path})
		if err != nil {
			return opened, err
		}
		opened = append(opened, layer...)
	}

	return opened, nil
}

// hideWindows opens the folder that hides an empty Windows, which lies above its layer.
func (l *layers) hideWindows() (*os.File, error) {
	dir := filepath.Join(l.cfg.StateDir, "nowindows")
	l.hiding.Lock()
	defer l.hiding.Unlock()
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(l.bareDir(), 0o755); err != nil {
			return nil, fmt.Errorf("hide an empty Windows: %w", err)
		}
		bare, err := os.OpenRoot(l.bareDir())
		if err != nil {
			return nil, err
		}
		defer bare.Close()

		err = makeHidden(dir+".new", bare, []string{emptyWindows})
		if err = errors.Join(err, os.Rename(dir+".new", dir)); err != nil {
			return nil, fmt.Errorf("hide an empty Windows: %w", err)
		}
	}

	return os.Open(dir)
}
