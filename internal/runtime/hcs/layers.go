package hcs

import (
	"crypto/sha1" //nolint:gosec // NameToGuid's is no secret: it names.
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/wine"
)

// Layers lie where programs of the host put them, as folders of its C:. A container has them as lower layers of its
// overlay, and as the upper one its scratch, a folder outside of the drive.
const (
	// files is the folder of a base layer that has its files, blankDisk the empty disk that its scratches begin with.
	files     = "Files"
	blankDisk = "blank.vhdx"
)

// layers are the layers of a host.
type layers struct {
	cfg Config
	// registries is held while the registry of a scratch is read, which takes memory: one at a time.
	registries sync.Mutex
	// hiding is held while a folder is made that hides what a layer deletes.
	hiding sync.Mutex

	mu     sync.Mutex
	active map[string]*scratch // by GUID
}

// at opens the drive, and returns what a path of Windows is called below it. Closing is the caller's.
func (l *layers) at(winPath string) (*os.Root, string, error) {
	if strings.ContainsRune(winPath, 0) || winPath == "" {
		return nil, "", refuse(InvalidArg, "%q is no path", winPath)
	}
	path, err := wine.UnixPath(l.cfg.Drive, winPath)
	if err != nil {
		return nil, "", refuse(PathNotFound, "%v", err)
	}

	name, err := filepath.Rel(l.cfg.Drive, path)
	if err != nil || name == "." || strings.HasPrefix(name, "..") {
		return nil, "", refuse(InvalidArg, "%q is no folder of a layer", winPath)
	}
	drive, err := os.OpenRoot(l.cfg.Drive)
	if err != nil {
		return nil, "", fmt.Errorf("open the host's drive: %w", err)
	}

	return drive, name, nil
}

// within calls do with the open folder of a layer.
func (l *layers) within(winPath string, do func(folder *os.Root) error) error {
	drive, name, err := l.at(winPath)
	if err != nil {
		return err
	}
	defer drive.Close()
	folder, err := drive.OpenRoot(name)
	if err != nil {
		return refuse(PathNotFound, "open layer %q: %v", winPath, err)
	}
	defer folder.Close()
	return do(folder)
}

// belongings returns what a layer has on the machine: the GUID of its scratch, and the name of what hides its
// deletions.
func (l *layers) belongings(winPath string) (guid, hidden string, err error) {
	err = l.within(winPath, func(folder *os.Root) error {
		// Of a disk or a record that is not the service's there is nothing to remove.
		if _, err := folder.Lstat(sandboxDisk); err == nil {
			guid, _ = diskOf(folder)
		}

		var r record
		if text, err := beneath.Read(folder, recordName, maxRecord); err == nil && json.Unmarshal(text, &r) == nil {
			if id, err := uuid.Parse(r.Hidden); err == nil {
				hidden = id.String()
			}
		}

		return nil
	})

	return guid, hidden, err
}

// hiddenDir returns the folder of the machine that hides what a layer deletes.
func (l *layers) hiddenDir(id string) string { return filepath.Join(l.cfg.StateDir, "hidden", id) }

// isBase reports whether a layer has files of its own, as a base layer has, and no scratch: there is nothing to
// activate or prepare, and its path stands for it.
func (l *layers) isBase(winPath string) bool {
	base := false
	_ = l.within(winPath, func(folder *os.Root) error {
		_, disk := folder.Lstat(sandboxDisk)
		info, err := folder.Lstat(files)
		base = errors.Is(disk, fs.ErrNotExist) && err == nil && info.IsDir()
		return nil
	})
	return base
}

// open opens the folders of layers, to be mounted. They have to lie in what the host's programs have written: a system
// folder of the drive is no layer.
func (l *layers) open(paths []string) (opened []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(opened)
		}
	}()
	upper, err := os.OpenRoot(l.cfg.Upper)
	if err != nil {
		return nil, fmt.Errorf("open what is written to the host's drive: %w", err)
	}

	defer upper.Close()

	for _, path := range paths {
		drive, name, err := l.at(path)
		if err != nil {
			return opened, err
		}
		_ = drive.Close()
		f, err := upper.OpenFile(name, unix.O_DIRECTORY|os.O_RDONLY, 0)
		if err != nil {
			return opened, refuse(PathNotFound, "open layer %q: %v", path, err)
		}

		opened = append(opened, f)
		hidden, err := l.hiddenBy(path)
		if err != nil {
			return opened, err
		}
		if hidden != nil {
			opened = append(opened, hidden)
		}
	}

	return opened, nil
}

// hiddenBy opens the folder that hides what a layer deletes, which is just below the layer; nil: it hides nothing.
func (l *layers) hiddenBy(winPath string) (hidden *os.File, err error) {
	err = l.within(winPath, func(folder *os.Root) error {
		root, err := l.hide(folder)
		if err != nil || root == nil {
			return err
		}
		defer root.Close()
		hidden, err = root.Open(".")
		return err
	})
	return hidden, err
}

func closeAll(opened []*os.File) {
	for _, f := range opened {
		_ = f.Close()
	}
}

func (l *layers) createFolder(winPath string) error {
	drive, name, err := l.at(winPath)
	if err != nil {
		return err
	}
	defer drive.Close()
	return drive.MkdirAll(name, 0o755)
}

// removeFolder removes a folder in which there is nothing.
func (l *layers) removeFolder(winPath string) error {
	drive, name, err := l.at(winPath)
	if err != nil {
		return err
	}
	defer drive.Close()
	return drive.Remove(name)
}

// exists reports whether a layer's folder is there.
func (l *layers) exists(winPath string) bool {
	return l.within(winPath, func(*os.Root) error { return nil }) == nil
}

// destroy removes a layer with its scratch, if it has one, and with what hides its deletions. A layer that is gone is
// no error.
func (l *layers) destroy(winPath string) error {
	if !l.exists(winPath) {
		return nil
	}
	guid, hidden, err := l.belongings(winPath)
	if err != nil {
		return err
	}

	if guid, err = l.giveUp(guid); err != nil {
		return err
	}

	drive, name, err := l.at(winPath)
	if err != nil {
		return err
	}
	defer drive.Close()
	if err := beneath.RemoveAll(drive, name); err != nil {
		return fmt.Errorf("remove layer: %w", err)
	}

	var errs []error
	if guid != "" {
		errs = append(errs, os.RemoveAll(l.dirOf(guid)))
	}
	if hidden != "" {
		errs = append(errs, os.RemoveAll(l.hiddenDir(hidden)))
	}
	return errors.Join(errs...)
}

// giveUp lets go of the scratch of a layer that is removed, and keeps that it is to be removed too. It returns the
// scratch's guid, "" if there is none or whoever uses it removes it. A scratch that is in use is an error.
func (l *layers) giveUp(guid string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	var err error
	s, left := l.find(guid), guid
	switch {
	case s == nil:
		err = l.unshow(guid)
	case s.ending: // whoever uses it removes it
		s.doomed, left = true, ""
	case s.user != "":
		return "", refuse(InvalidState, "the layer is in use by compute system %q", s.user)
	default:
		delete(l.active, guid)
		err = l.unshow(guid)
	}

	if err == nil && guid != "" {
		err = l.doom(guid) // should the service end before it is removed
	}
	return left, err
}

// processBase makes a base layer of a folder in which its files are: scratches of it begin as copies of its empty disk.
func (l *layers) processBase(winPath string) error {
	return l.within(winPath, func(folder *os.Root) error {
		info, err := folder.Lstat(files)
		if err != nil || !info.IsDir() {
			return refuse(PathNotFound, "the layer has no folder %s", files)
		}
		if !hasEmptyWindows(folder) {
			if err := l.spell(folder); err != nil {
				return err
			}
		}
		return beneath.Write(folder, blankDisk, []byte(diskMark), 0o644)
	})
}

// spell gives the names of a layer the letter case that they have in Wine's C:, which is below all layers: Linux merges
// folders by their exact names. A name that is there in both cases stays.
func (l *layers) spell(folder *os.Root) error {
	system, err := os.OpenRoot(l.cfg.SystemDrive)
	if err != nil {
		return fmt.Errorf("open the system's drive: %w", err)
	}
	defer system.Close()
	return spellFolder(folder, files, system, ".", 0)
}

// deepest is how deep Wine's C: is at most.
const deepest = 24

func spellFolder(folder *os.Root, at string, system *os.Root, below string, depth int) error {
	names, err := fs.ReadDir(system.FS(), filepath.ToSlash(below))
	if err != nil || depth > deepest {
		return nil //nolint:nilerr // Wine's C: has no such folder: nothing to go by.
	}
	right := map[string]string{}
	for _, n := range names {
		right[strings.ToLower(n.Name())] = n.Name()
	}

	entries, err := beneath.ReadFolder(folder, at, 0)
	if err != nil {
		return fmt.Errorf("read folder of layer: %w", err)
	}

	for _, e := range entries {
		name, known := right[strings.ToLower(e.Name())]
		if !known {
			continue
		}

		if name != e.Name() {
			if _, err := folder.Lstat(filepath.Join(at, name)); err == nil {
				continue
			}
			if err := folder.Rename(filepath.Join(at, e.Name()), filepath.Join(at, name)); err != nil {
				return fmt.Errorf("spell %q as the system does: %w", e.Name(), err)
			}
		}

		if !e.IsDir() {
			continue
		}
		err := spellFolder(folder, filepath.Join(at, name), system, filepath.Join(below, name), depth+1)
		if err != nil {
			return err
		}
	}

	return nil
}

// guidOf returns the GUID that Windows names a layer's folder by in its documents.
func guidOf(name string) string {
	return uuid.NewHash(sha1.New(), uuid.Nil, []byte(strings.ToLower(name)), 5).String()
}
