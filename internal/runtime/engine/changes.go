package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/wine"
)

// Drive is the folder of C: in the layers of a container.
const Drive = drive

// Written returns the upper folder of a container's overlay, with what its programs have written; C: is Drive in it. It
// goes with the container. All in it is the programs' own work, Drive too.
func (e *Engine) Written(ctx context.Context, id string) (string, error) {
	o, err := e.layersOf(e.with(ctx), id)
	if err != nil {
		return "", err
	}
	return o.upper, nil
}

// Registry returns the files of a container's registry, as they are on disk: Wine's server writes them when it ends,
// and now and then.
func (e *Engine) Registry(ctx context.Context, id string) (wine.Registry, error) {
	o, err := e.layersOf(e.with(ctx), id)
	if err != nil {
		return nil, err
	}
	files, err := e.SystemRegistry()
	if err == nil {
		err = readOver(files, o.upper)
	}
	if err != nil {
		return nil, fmt.Errorf("read registry of container %q: %w", id, err)
	}
	return files, nil
}

// ScratchRegistry returns what the containers of a scratch have changed in their registry, as it is on disk. layers are
// the folders below it, top first, as in Container; user is the Windows user of the containers' programs.
func (e *Engine) ScratchRegistry(scratch string, layers []*os.File, user string) (c wine.RegistryChanges, err error) {
	c.User = user
	if c.System, err = e.SystemRegistry(); err != nil {
		return c, err
	}
	var lower []string
	for _, layer := range layers {
		lower = append(lower, fmt.Sprintf("/proc/self/fd/%d", layer.Fd()))
	}

	image, _, err := e.imageRegistry(lower, user) // its problems were told when the container began
	if err != nil {
		return c, err
	}

	c.Before = maps.Clone(c.System)
	maps.Copy(c.Before, image)
	c.After = maps.Clone(c.Before)
	if err := readOver(c.After, filepath.Join(scratch, "fs")); err != nil {
		return c, fmt.Errorf("read registry of scratch %q: %w", scratch, err)
	}

	return c, nil
}

// readOver puts the files of the registry that an upper folder has in the place of those that are below.
func readOver(files wine.Registry, upper string) error {
	for name := range files {
		text, err := beneath.ReadIn(upper, name, maxHive)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		files[name] = string(text)
	}
	return nil
}

// SystemRegistry returns the files of the registry with which Windows itself begins.
func (e *Engine) SystemRegistry() (wine.Registry, error) {
	files := wine.Registry{}
	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		text, err := e.systemHive(name)
		if err != nil {
			return nil, fmt.Errorf("read Windows' registry: %w", err)
		}
		files[name] = text
	}
	return files, nil
}

// UserName returns the Windows user of a container's programs by the id that they have in it, unless they are of an
// account of the image.
func UserName(uid uint32) string {
	if uid == 0 {
		return wine.AdminUser
	}
	return wine.User
}
