package hcs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/windows/wine"
)

// sandbox.vhdx in the folder of a scratch, on Windows a disk, is a file that names the scratch.
const (
	sandboxDisk = "sandbox.vhdx"
	// diskMark begins the file; what follows is the scratch's GUID, or nothing in one that is fresh.
	diskMark = "Mullion scratch 1\n"
	maxDisk  = 4096
)

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

// preparedFile is where a scratch's folder, outside of the drive, says that it is prepared, also to the next service.
const preparedFile = "prepared.json"

// userFile is where a scratch's folder says which Windows user the programs of its container run as: the container's
// registry has that one's settings.
const userFile = "user.json"

// doomedFile is where a scratch's folder says that it is to be removed.
const doomedFile = "doomed"

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

// createSandbox makes the folder of a scratch.
func (l *layers) createSandbox(winPath string) error {
	if err := l.createFolder(winPath); err != nil {
		return err
	}
	return l.within(winPath, func(folder *os.Root) error {
		return beneath.Write(folder, sandboxDisk, []byte(diskMark), 0o644)
	})
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
	// Somebody may have been about to remove it, and could not.
	err = os.Remove(filepath.Join(s.dir, doomedFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.WriteJSON(filepath.Join(s.dir, preparedFile), parents)
	}
	if err != nil {
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

// take gives a scratch back to the compute system that had it in an earlier service. That of one whose container is
// there is the container's, whatever else is known of it.
func (l *layers) take(guid string, lower []string, user string, made bool) (*scratch, error) {
	id, err := uuid.Parse(guid)
	if err != nil || id.String() != guid {
		return nil, refuse(InvalidArg, "%q names no scratch", guid)
	}
	l.mu.Lock()
	defer l.mu.Unlock()

	s := l.find(guid)
	switch {
	case s == nil && !made:
		return nil, refuse(PathNotFound, "there is no prepared scratch {%s}", guid)
	case s == nil:
		s = &scratch{
			guid:  guid,
			dir:   l.dirOf(guid),
			lower: lower,
		}
		l.active[guid] = s
	case s.user != "":
		return nil, refuse(InvalidState, "the scratch is in use by compute system %q", s.user)
	}

	if err := l.unshow(guid); err != nil {
		l.cfg.Log.Warn("the volume of a scratch is still there", "scratch", guid, "error", err)
	}
	s.user, s.lower = user, lower
	return s, nil
}

// doom keeps that a scratch is to be removed, for the next service.
func (l *layers) doom(guid string) error {
	err := os.WriteFile(filepath.Join(l.dirOf(guid), doomedFile), nil, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // there is none
		return nil
	}
	return err
}

// sweep removes the scratches that an earlier service was about to remove. One that is used goes with its user.
func (l *layers) sweep() {
	doomed, err := filepath.Glob(filepath.Join(l.dirOf("*"), doomedFile))
	errs := []error{err}
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, file := range doomed {
		dir := filepath.Dir(file)
		guid := filepath.Base(dir)
		if s := l.active[guid]; s != nil && s.user != "" {
			s.doomed = true
			continue
		}
		delete(l.active, guid)
		errs = append(errs, l.unshow(guid), os.RemoveAll(dir))
	}
	if err := errors.Join(errs...); err != nil {
		l.cfg.Log.Warn("scratches not wholly removed", "error", err)
	}
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
