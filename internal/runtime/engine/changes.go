package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

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

// Registry returns the files of a container's registry by their names, as they are on disk: Wine's server writes them
// when it ends, and now and then.
func (e *Engine) Registry(ctx context.Context, id string) (map[string]string, error) {
	o, err := e.layersOf(e.with(ctx), id)
	if err != nil {
		return nil, err
	}

	files, err := e.SystemRegistry()
	if err != nil {
		return nil, err
	}

	for name := range files {
		text, err := beneath.ReadIn(o.upper, name, maxHive)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read registry of container %q: %w", id, err)
		}
		files[name] = string(text)
	}

	return files, nil
}

// SystemRegistry returns the files of the registry with which Windows itself begins.
func (e *Engine) SystemRegistry() (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		text, err := e.systemHive(name)
		if err != nil {
			return nil, fmt.Errorf("read Windows' registry: %w", err)
		}
		files[name] = text
	}
	return files, nil
}
