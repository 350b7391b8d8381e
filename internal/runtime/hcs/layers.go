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

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/wine"
)

// Layers lie where programs of the host put them, as folders of its C:. A container has them as lower layers of its
// overlay, and as the upper one its scratch, a folder outside of the drive. sandbox.vhdx in a scratch's folder, on
// Windows a disk, is a file that names the scratch.
const (
	blankDisk   = "blank.vhdx"
	sandboxDisk = "sandbox.vhdx"
	// diskMark begins the file; what follows is the scratch's GUID, or nothing in one that is fresh.
	diskMark = "Mullion scratch 1\n"
	maxDisk  = 4096
	files    = "Files"
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

// scratch is what a container writes to.
type scratch struct {
	guid string
	dir  string // on the machine
	// lower are the layers below it, top first, as Windows paths; nil: it has not been prepared.
	lower []string
	user  string // the compute system that uses it; "": none does
	// ending says that its user ends, doomed that it is removed then.
	ending, doomed bool
	// shown says that programs of the host have it as a volume, while nobody uses it.
	shown bool
}

// volume returns how a scratch's volume is called, without a backslash at its end, which Docker and hcsshim put there.
func (s *scratch) volume() string { return `\\?\Volume{` + s.guid + `}` }

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

// activate finds or makes the scratch that a folder is of.
func (l *layers) activate(winPath string) (*scratch, error) {
	var s *scratch
	err := l.within(winPath, func(folder *os.Root) error {
		guid, err := diskOf(folder)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if s = l.find(guid); s != nil {
			return nil
		}

		dir := l.dirOf(guid)
		for _, part := range []string{"fs", "work"} {
			if err := os.MkdirAll(filepath.Join(dir, part), 0o755); err != nil {
				return fmt.Errorf("make scratch: %w", err)
			}
		}

		s = &scratch{guid: guid, dir: dir}
		l.active[guid] = s
		return nil
	})

	return s, err
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

func (l *layers) dirOf(guid string) string { return filepath.Join(l.cfg.StateDir, "scratch", guid) }

// diskOf reads which scratch a folder is of; a fresh one gets a name.
func diskOf(folder *os.Root) (string, error) {
	text, err := beneath.Read(folder, sandboxDisk, maxDisk)
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse(FileNotFound, "the layer has no %s", sandboxDisk)
	}
	if err != nil {
		return "", refuse(InvalidArg, "read %s: %v", sandboxDisk, err)
	}

	name, ours := strings.CutPrefix(string(text), diskMark)
	if !ours {
		return "", refuse(NotSupported, "%s is a disk, and not of this service", sandboxDisk)
	}
	if name == "" {
		guid := uuid.NewString()
		return guid, beneath.Write(folder, sandboxDisk, []byte(diskMark+guid), 0o644)
	}

	id, err := uuid.Parse(name)
	if err != nil {
		return "", refuse(InvalidArg, "%s names no scratch", sandboxDisk)
	}
	return id.String(), nil
}

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

// onScratch does something to the scratch of a layer; to a base layer, nothing.
func (l *layers) onScratch(winPath string, do func(winPath string) error) error {
	if l.isBase(winPath) {
		return nil
	}
	return do(winPath)
}

// prepare says which layers are below a scratch.
func (l *layers) prepare(winPath string, parents []string) error {
	if len(parents) == 0 && l.isBase(winPath) {
		return nil
	}
	s, err := l.activate(winPath)
	if err != nil {
		return err
	}
	for _, p := range parents {
		if err := l.within(p, func(*os.Root) error { return nil }); err != nil {
			return err
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if err := atomicfile.WriteJSON(filepath.Join(s.dir, preparedFile), parents); err != nil {
		return fmt.Errorf("keep layers of scratch: %w", err)
	}
	s.lower, s.shown = parents, true
	return l.show(s)
}

// unprepare takes the volume of a scratch from programs of the host.
func (l *layers) unprepare(winPath string) error {
	s, err := l.activate(winPath)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.shown = false
	return l.unshow(s.guid)
}

// preparedFile is where a scratch's folder, outside of the drive, says that it is prepared, also to the next service.
const preparedFile = "prepared.json"

// userFile is where a scratch's folder says which Windows user the programs of its container run as: the container's
// registry has that one's settings.
const userFile = "user.json"

// begins keeps which user the programs of a scratch's first container run as: the registry that it begins with stays.
func (l *layers) begins(s *scratch, user string) error {
	if _, err := os.Lstat(filepath.Join(s.dir, userFile)); err == nil {
		return nil
	}
	if err := atomicfile.WriteJSON(filepath.Join(s.dir, userFile), user); err != nil {
		return fmt.Errorf("keep user of scratch: %w", err)
	}
	return nil
}

// userOf returns the user that begins has kept; wine.AdminUser if no container has begun.
func (s *scratch) userOf() (user string, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, userFile))
	if errors.Is(err, fs.ErrNotExist) {
		return wine.AdminUser, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &user)
	}
	if err != nil {
		err = fmt.Errorf("read user of scratch: %w", err)
	}
	return user, err
}

// find returns a scratch that is active; l.mu is held. One that an earlier service has prepared is.
func (l *layers) find(guid string) *scratch {
	if s := l.active[guid]; s != nil {
		return s
	}
	id, err := uuid.Parse(guid)
	if err != nil || id.String() != guid {
		return nil
	}

	s := &scratch{guid: guid, dir: l.dirOf(guid)}
	text, err := os.ReadFile(filepath.Join(s.dir, preparedFile))
	if err != nil || json.Unmarshal(text, &s.lower) != nil || s.lower == nil {
		return nil
	}
	l.active[guid] = s
	return s
}

// take gives a prepared scratch back to the compute system that had it in an earlier service.
func (l *layers) take(guid string, lower []string, user string) (*scratch, error) {
	return l.use((&scratch{guid: guid}).volume(), lower, user)
}

// mountPath returns the path of a scratch's volume; a layer that is no scratch has none, and is where it is.
func (l *layers) mountPath(winPath string) (string, error) {
	isScratch := false
	err := l.within(winPath, func(folder *os.Root) error {
		_, err := folder.Lstat(sandboxDisk)
		isScratch = err == nil
		return nil
	})
	if err != nil || !isScratch {
		return winPath, err
	}

	s, err := l.activate(winPath)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.lower == nil && !l.isShown(s.guid) {
		return "", refuse(NotReady, "the layer %q is not prepared, and its disk not attached", winPath)
	}

	return s.volume(), nil
}

// deactivate forgets a scratch, whose files stay. One that is not active is no error.
func (l *layers) deactivate(winPath string) error {
	s, err := l.activate(winPath)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.user != "" {
		return refuse(InvalidState, "the layer is in use by compute system %q", s.user)
	}

	delete(l.active, s.guid)
	if err := l.unshow(s.guid); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.dir, preparedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget layers of scratch: %w", err)
	}
	return nil
}

// use gives a prepared scratch, by its volume, to a compute system with the layers that its document names.
func (l *layers) use(volume string, lower []string, user string) (*scratch, error) {
	name, opened := strings.CutPrefix(strings.ToLower(volume), `\\?\volume{`)
	name, closed := strings.CutSuffix(strings.TrimSuffix(name, `\`), "}")
	if !opened || !closed {
		return nil, refuse(InvalidArg, "%q is no volume of a scratch", volume)
	}
	l.mu.Lock()
	defer l.mu.Unlock()

	s := l.find(name)
	switch {
	case s == nil || s.lower == nil:
		return nil, refuse(PathNotFound, "there is no prepared scratch with the volume %q", volume)
	case s.user != "":
		return nil, refuse(InvalidState, "the scratch is in use by compute system %q", s.user)
	}

	if err := l.unshow(s.guid); err != nil {
		return nil, err
	}
	s.user, s.lower = user, lower
	return s, nil
}

// leave says that the compute system that uses a scratch ends: from now on the scratch may be destroyed.
func (l *layers) leave(s *scratch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ending = true
}

// release takes a scratch from a compute system that has ended.
func (l *layers) release(s *scratch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.user, s.ending = "", false
	if !s.doomed && s.shown {
		return l.show(s)
	}
	if !s.doomed {
		return nil
	}
	delete(l.active, s.guid)
	return os.RemoveAll(s.dir)
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

// createSandbox makes the folder of a scratch.
func (l *layers) createSandbox(winPath string) error {
	if err := l.createFolder(winPath); err != nil {
		return err
	}
	return l.within(winPath, func(folder *os.Root) error {
		return beneath.Write(folder, sandboxDisk, []byte(diskMark), 0o644)
	})
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

	l.mu.Lock()
	s := l.find(guid)
	used := s != nil && s.user != "" && !s.ending
	switch {
	case used:
	case s == nil:
		err = l.unshow(guid)
	case s.ending: // whoever uses it removes it
		s.doomed, guid = true, ""
	default:
		delete(l.active, guid)
		err = l.unshow(guid)
	}

	l.mu.Unlock()
	if err != nil {
		return err
	}
	if used {
		return refuse(InvalidState, "the layer is in use by compute system %q", s.user)
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
