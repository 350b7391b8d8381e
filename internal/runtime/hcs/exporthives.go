package hcs

import (
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

// The registry of a layer lies in files beside its drive, and the settings of a user in a file of the user's profile.

// hiveNames returns the files of a layer's registry, which have to be there.
func hiveNames() []string {
	return []string{
		"DefaultUser_Delta", "Sam_Delta", "Security_Delta", "Software_Delta", "System_Delta",
	}
}

// hives exports the files of the layer's registry.
func (ex *exporter) hives() error {
	var changed map[string][]byte
	if ex.registry != nil {
		var err error
		if changed, err = ex.registry.Hives(); err != nil {
			return refuse(InvalidArg, "read the container's registry: %v", err)
		}
	}

	for _, name := range hiveNames() {
		text, err := ex.hive(name, changed)
		if err != nil {
			return refuse(InvalidArg, "read hive %q of layer: %v", name, err)
		}
		if err := beneath.Write(ex.to, filepath.Join(hives, name), text, 0o644); err != nil {
			return fmt.Errorf("write hive of exported layer: %w", err)
		}
	}

	return nil
}

// hive returns a file of the layer's registry: of a scratch what its container has changed, else the layer's own. One
// that changes nothing is there, too.
func (ex *exporter) hive(name string, changed map[string][]byte) ([]byte, error) {
	text, err := changed[name], error(nil)
	if ex.registry == nil {
		text, err = beneath.Read(ex.from, filepath.Join(hives, name), maxRecord)
	}
	if errors.Is(err, fs.ErrNotExist) || (err == nil && text == nil) {
		return regf.Build(), nil
	}
	return text, err
}

// userSettings exports the settings of the user of a container, which has them beside its drive, as the file of the
// user's profile that Windows has them in.
func (ex *exporter) userSettings() error {
	if ex.registry == nil {
		return nil
	}
	name, hive, err := ex.registry.UserSettings()
	if err != nil {
		return refuse(InvalidArg, "read the container's registry: %v", err)
	}

	if hive == nil || ex.isGone(path.Join(files, path.Dir(name))) {
		return nil // unchanged, or gone with the profile
	}
	info, err := ex.from.Lstat(wine.UserHive)
	if err != nil {
		return fmt.Errorf("look at the container's registry: %w", err)
	}

	at := files
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		at = ex.spelled(at, folder)
		switch err := ex.to.Mkdir(at, 0o755); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return fmt.Errorf("make folder of exported layer: %w", err)
		}

		if err := ex.write(at+folderSuffix, info, attributeFolder, nil); err != nil {
			return err
		}
	}

	// The program has removed its own, and it is there again.
	ex.gone = slices.DeleteFunc(ex.gone, func(gone string) bool {
		return strings.EqualFold(gone, path.Join(files, name))
	})
	at = ex.spelled(at, path.Base(name))
	if err := beneath.RemoveAll(ex.to, at); err != nil {
		return fmt.Errorf("replace the user's settings: %w", err)
	}
	return ex.make(at, info.ModTime(), func(target *os.File) error {
		_, err := target.Write(append(dataHead(headOf(attributeArchive), int64(len(hive))), hive...))
		return err
	})
}

// spelled returns the path of an entry of a folder that is exported, in the letter case in which it is there.
func (ex *exporter) spelled(folder, name string) string {
	if e, there := names(ex.to, folder)[strings.ToLower(name)]; there {
		name = e.Name()
	}
	return filepath.Join(folder, name)
}

// isGone reports whether the layer deletes something, or a folder that it is in.
func (ex *exporter) isGone(name string) bool {
	for _, gone := range ex.gone {
		if strings.EqualFold(gone, name) || strings.HasPrefix(strings.ToLower(name), strings.ToLower(gone)+"/") {
			return true
		}
	}
	return false
}
