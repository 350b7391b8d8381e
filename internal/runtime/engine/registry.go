package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/wine"
)

// machineHive is the file of HKEY_LOCAL_MACHINE in a system layer.
const machineHive = "system.reg"

// maxHive is the largest registry file of a layer that is read, in bytes. Reading it takes several times as much.
const maxHive = 32 << 20

// readShare: so many bytes that are read count as one byte of changes.
const readShare = 8

// applyHives gives a container the registry changes of its image's layers (lower, top first): the container's own
// machineHive in upper, which belongs to uid. Without changes there is none. A layer whose hive cannot be read changes
// nothing, and problems says why.
func (e *Engine) applyHives(upper string, lower []string, uid int) (problems []error, err error) {
	e.hives.Lock() // one at a time, for its memory
	defer e.hives.Unlock()
	var changes []wine.Key
	room := wine.MaxChanges // for all layers: an image may have hundreds
	for _, layer := range slices.Backward(lower) {
		for _, name := range slices.Sorted(maps.Keys(wine.LayerHives())) {
			own, err := layerChanges(layer, name, &room)
			if err != nil {
				problems = append(problems, fmt.Errorf("read registry changes %q of layer %q: %w", name, layer, err))
				continue
			}
			changes = append(changes, own...)
		}
	}
	if hasIIS(lower) {
		changes = append(changes, wine.W3SVC())
	}
	if len(changes) == 0 {
		return problems, nil
	}
	text, err := e.machineHive()
	if err != nil {
		return problems, err
	}
	edited, err := wine.EditRegistry(text, changes)
	if err != nil {
		return problems, fmt.Errorf("apply the image's registry changes: %w", err)
	}
	root, err := os.OpenRoot(upper)
	if err != nil {
		return problems, err
	}
	defer root.Close()
	if err := root.WriteFile(machineHive, []byte(edited), 0o644); err != nil {
		return problems, fmt.Errorf("write the container's registry: %w", err)
	}
	return problems, root.Lchown(machineHive, uid, uid)
}

// hasIIS reports whether an image has IIS' folder.
func hasIIS(layers []string) bool {
	return slices.ContainsFunc(layers, func(layer string) bool {
		root, err := os.OpenRoot(layer)
		if err != nil {
			return false
		}
		defer root.Close()
		at := drive
		for part := range strings.SplitSeq("windows/system32/inetsrv", "/") {
			names, err := fs.ReadDir(root.FS(), at)
			i := slices.IndexFunc(names, func(e fs.DirEntry) bool {
				return e.IsDir() && strings.EqualFold(e.Name(), part)
			})
			if err != nil || i < 0 {
				return false
			}
			at = path.Join(at, names[i].Name())
		}
		return true
	})
}

// machineHive is the text of the registry that a container begins with.
func (e *Engine) machineHive() (string, error) {
	for _, layer := range e.opts.SystemLayers {
		text, err := os.ReadFile(filepath.Join(layer, machineHive))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return string(text), err
	}
	return "", fmt.Errorf("no system layer has %q", machineHive)
}

// layerChanges are the changes that a file in a layer's folder Hives makes; none if the layer has not got it.
func layerChanges(layer, name string, room *int) ([]wine.Key, error) {
	root, err := os.OpenRoot(layer)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(filepath.Join("Hives", name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxHive || *room < 0 {
		return nil, regf.ErrTooLarge
	}
	*room -= int(info.Size()) / readShare
	hive, err := io.ReadAll(io.LimitReader(file, maxHive))
	if err != nil || len(bytes.Trim(hive, "\x00")) == 0 { // builders for Linux write empty ones
		return nil, err
	}
	return wine.LayerChanges(wine.LayerHives()[name], hive, room)
}
