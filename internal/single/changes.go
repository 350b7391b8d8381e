package single

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"mullion.dev/mullion/internal/runtime/commit"
	"mullion.dev/mullion/internal/windows/wine"
)

// remember keeps the registry with which a container begins, if what it changes is asked for.
func (k *container) remember(ctx context.Context) (err error) {
	if k.ask.Layer == "" {
		return nil
	}
	k.before, err = k.engine.Registry(ctx, k.id)
	return err
}

// writeLayer writes the layer that is asked for.
func (k *container) writeLayer(ctx context.Context) (err error) {
	changes := commit.Changes{Registry: wine.RegistryChanges{Before: k.before, User: k.user}}
	for _, m := range k.ask.Mounts {
		changes.Mounted = append(changes.Mounted, onDrive(m.Target))
	}

	if changes.Upper, err = k.engine.Written(ctx, k.id); err != nil {
		return err
	}
	if changes.Registry.After, err = k.engine.Registry(ctx, k.id); err != nil {
		return err
	}
	if changes.Registry.System, err = k.engine.SystemRegistry(); err != nil {
		return err
	}

	file, err := os.OpenFile(k.ask.Layer, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the layer of the container: %w", err)
	}
	err = errors.Join(changes.WriteLayer(ctx, file), file.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name())) // nobody asks for a part of it
	}

	return err
}

// onDrive returns the name of a mount's target on the drive, with slashes.
func onDrive(target string) string {
	name := strings.ReplaceAll(target, `\`, "/")
	if len(name) > 1 && name[1] == ':' {
		name = name[2:]
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}
