package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/regf"
	"mullion.dev/mullion/internal/windows/wine"
)

// maxHive is the largest registry file of a layer that is read, in bytes. Reading it takes several times as much.
const maxHive = 32 << 20

// readShare: so many bytes that are read count as one byte of changes.
const readShare = 8

// mostLeft is how many services that an image adds and a container does not get are named.
const mostLeft = 20

// imageChanges are the registry changes of an image by the file of the prefix that they are made to. A hive that cannot
// be read changes nothing, and problems says why.
type imageChanges struct {
	keys     map[string][]wine.Key
	iis      bool // the image has IIS' folder
	room     int  // for all layers: an image may have hundreds
	problems []error
}

// applyHives gives a container the registry changes of its image's layers (lower, top first): in upper the files of the
// registry that the layers change. They belong to uid, an id of the machine; user is the Windows user of the
// container's programs.
func (e *Engine) applyHives(upper string, lower []string, user string, uid int) (problems []error, err error) {
	files, problems, err := e.imageRegistry(lower, user)
	if err != nil {
		return problems, err
	}
	for name, text := range files {
		if err := writeHive(upper, name, text, uid); err != nil {
			return problems, fmt.Errorf("write the container's registry: %w", err)
		}
	}
	return problems, nil
}

// imageRegistry returns the files of the registry that the layers of an image change, as a container of them begins
// with them.
func (e *Engine) imageRegistry(lower []string, user string) (files wine.Registry, problems []error, err error) {
	e.hives.Lock() // one at a time, for its memory
	defer e.hives.Unlock()
	c := imageChanges{keys: map[string][]wine.Key{}, room: wine.MaxChanges}
	for _, layer := range slices.Backward(lower) {
		for _, hive := range wine.LayerHives() {
			c.read(layer, filepath.Join("Hives", hive.Name), hive.Hive, hive.Changes)
		}
	}

	c.readUser(lower, user)
	if user != wine.AdminUser && user != wine.User { // whose folders are in the system layer
		c.keys[wine.UserHive] = append([]wine.Key{wine.ProfileKey(user)}, c.keys[wine.UserHive]...)
	}
	c.iis = hasIIS(lower)

	files = wine.Registry{}
	for _, name := range []string{wine.MachineHive, wine.DefaultHive, wine.UserHive} {
		if len(c.keys[name]) == 0 && (!c.iis || name != wine.MachineHive) {
			continue
		}
		text, err := e.systemHive(name)
		if err != nil {
			return nil, c.problems, err
		}

		if files[name], err = c.edit(name, text); err != nil {
			return nil, c.problems, fmt.Errorf("apply the image's registry changes: %w", err)
		}
	}

	return files, c.problems, nil
}

// edit makes the changes to the text of a file of the registry.
func (c *imageChanges) edit(name, text string) (string, error) {
	if name != wine.MachineHive {
		return wine.EditRegistry(text, c.keys[name])
	}

	edited, left, err := wine.ApplyLayers(text, c.keys[name])
	if len(left) > mostLeft {
		left = append(left[:mostLeft:mostLeft], fmt.Sprintf("and %d more", len(left)-mostLeft))
	}
	if len(left) > 0 {
		c.problems = append(c.problems, fmt.Errorf("services of the image left out: %s", strings.Join(left, ", ")))
	}

	if err == nil && c.iis {
		return wine.EditRegistry(edited, []wine.Key{wine.W3SVC()})
	}
	return edited, err
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
			names, err := beneath.ReadFolder(root, at, 0)
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

// read takes the changes that a hive in a layer makes to a file of the registry; none if the layer has not got it.
func (c *imageChanges) read(layer, name, file string, changes func([]byte, *int) ([]wine.Key, error)) {
	keys, err := c.readFile(layer, name, changes)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("read registry changes %q of layer %q: %w", name, layer, err))
		return
	}
	c.keys[file] = append(c.keys[file], keys...)
}

func (c *imageChanges) readFile(
	layer, name string, changes func([]byte, *int) ([]wine.Key, error),
) ([]wine.Key, error) {
	if c.room < 0 {
		return nil, regf.ErrTooLarge
	}
	hive, err := beneath.ReadIn(layer, name, maxHive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}
	c.room -= len(hive) / readShare
	if isEmpty(hive) {
		return nil, nil
	}
	return changes(hive, &c.room)
}

// isEmpty reports whether a hive is one of those that builders for Linux write, with nothing in them.
func isEmpty(hive []byte) bool { return len(bytes.Trim(hive, "\x00")) == 0 }

// readUser takes the user's own settings: those of the user's profile, or those that a profile begins with.
func (c *imageChanges) readUser(lower []string, user string) {
	for _, profile := range []string{user, "Default"} {
		t, err := resolveTarget(lower, `C:\Users\`+profile+`\NTUSER.DAT`)
		if err != nil {
			c.problems = append(c.problems, err)
			return
		}
		if t.exists < len(t.parts) || t.isDir {
			continue
		}

		name := strings.TrimPrefix(t.Path(), "/")
		for _, layer := range lower { // no layer above the one with the file hides it
			if _, err := os.Lstat(filepath.Join(layer, name)); err == nil {
				c.read(layer, name, wine.UserHive, func(hive []byte, room *int) ([]wine.Key, error) {
					return wine.UserChanges(hive, user, room)
				})
				return
			}
		}
	}
}

// systemHive returns the text of a file of the registry as a container begins with it.
func (e *Engine) systemHive(name string) (string, error) {
	for _, layer := range e.opts.SystemLayers {
		text, err := os.ReadFile(filepath.Join(layer, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return string(text), err
	}
	return "", fmt.Errorf("no system layer has %q", name)
}

func writeHive(upper, name, text string, uid int) error {
	root, err := os.OpenRoot(upper)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
		return err
	}
	return root.Lchown(name, uid, uid)
}
