package single

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// Volume is a folder that the engine keeps for containers, until a person removes it.
type Volume struct {
	Name    string
	Created time.Time
	Labels  map[string]string `json:",omitempty"`
	// Filling says that it gets what an image has, and has not all of it yet.
	Filling bool `json:",omitempty"`
	// Mountpoint is its folder, and UsedBy are the ids of the containers that have it: of those that an engine lists,
	// and not in records.
	Mountpoint string   `json:",omitempty"`
	UsedBy     []string `json:",omitempty"`
}

// AnonymousLabel is Docker's label of a volume that nobody has named.
const AnonymousLabel = "com.docker.volume.anonymous"

// Anonymous reports whether nobody has named the volume: it goes with a container that was run with --rm.
func (v Volume) Anonymous() bool {
	_, labelled := v.Labels[AnonymousLabel]
	return labelled
}

// volumeForm is what a name of a volume is, as Docker has it
// (https://github.com/moby/moby/blob/v27.5.1/daemon/names/names.go).
var volumeForm = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// deviceForm are the names that Windows has for devices, also with an extension
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
var deviceForm = lazyregexp.New(`^(?i:con|prn|nul|aux|com[0-9]|lpt[0-9])(\..*)?$`)

// mostOfVolume bounds a volume's name, in bytes: the folder's name is no longer on Linux.
const mostOfVolume = 255

// VolumeName returns a volume's name as the engine keeps it, or why a text is none, in Docker's words. As with Docker
// on Windows, capital letters make no other name
// (https://github.com/moby/moby/blob/v27.5.1/volume/service/store_windows.go).
func VolumeName(name string) (string, error) {
	switch {
	case len(name) == 1 && volumeForm.MatchString(name):
		return "", refuse("volume name is too short, names should be at least two alphanumeric characters")
	case !volumeForm.MatchString(name):
		r := refuse("%q includes invalid characters for a local volume name, only \"[a-zA-Z0-9][a-zA-Z0-9_.-]\" are "+
			"allowed. If you intended to pass a host directory, use absolute path", name)
		r.Remedy = "a folder of this machine begins with a dot or a slash"
		return "", r
	case len(name) > mostOfVolume:
		return "", refuse("volume name is too long: it has %d letters, and %d are the most", len(name), mostOfVolume)
	case deviceForm.MatchString(name):
		return "", refuse("volume name %q cannot be a reserved word for Windows filenames", name)
	}
	return strings.ToLower(name), nil
}

// noVolume is the refusal of a volume that is not there, in Docker's words.
func noVolume(name string) *Refusal { return refuse("get %s: no such volume", name) }

// volumes are the volumes of a data folder. A volume is a folder with a record and the folder of its data. It is made
// beside its place and moved there, and moved away before it is removed, so that whoever is killed leaves none by half.
type volumes struct {
	dir string

	mu    sync.Mutex
	locks map[string]*sync.Mutex // of those that are being looked at or filled, by name
}

// The names in a volume's folder, and the beginnings of the names of those that are being made or removed: no volume
// begins with a dot.
const (
	volumeRecord = "volume.json"
	volumeData   = "_data" // Docker's
	volumeNew    = ".new-"
	volumeGone   = ".gone-"
)

// openVolumes finds the volumes of a data folder. left removes what an earlier engine has left of some: it takes as
// long as those are large.
func openVolumes(p Paths) (_ *volumes, left func() error, err error) {
	v := &volumes{dir: p.volumes(), locks: map[string]*sync.Mutex{}}
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return v, func() error { return nil }, nil
	}

	var remains []string
	var errs []error // of single volumes: they are tried again when a container has them
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			remains = append(remains, e.Name())
			continue
		}
		errs = append(errs, v.refill(e.Name()))
	}

	return v, func() error { return errors.Join(append(errs, v.discardAll(remains))...) }, err
}

// refill empties a volume that was being filled, by an earlier engine or in a try that failed: its next container fills
// it.
func (v *volumes) refill(name string) error {
	vol, err := v.get(name)
	if err != nil || !vol.Filling {
		return nil //nolint:nilerr // What is no volume is not touched.
	}

	root, err := os.OpenRoot(v.data(name))
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := beneath.ReadFolder(root, ".", 0)
	for _, e := range entries {
		err = errors.Join(err, beneath.RemoveAll(root, e.Name()))
	}
	if err != nil {
		return fmt.Errorf("empty volume %q: %w", name, err)
	}

	vol.Filling = false
	return v.note(vol)
}

func (v *volumes) data(name string) string { return filepath.Join(v.dir, name, volumeData) }

// get returns a volume. The error is noVolume's if there is none. A record that cannot be read hides no data: nothing
// is known of the volume then but its name.
func (v *volumes) get(name string) (Volume, error) {
	var vol Volume
	text, err := os.ReadFile(filepath.Join(v.dir, name, volumeRecord))
	if errors.Is(err, fs.ErrNotExist) {
		return vol, noVolume(name)
	}
	if err != nil {
		return vol, fmt.Errorf("read volume %q: %w", name, err)
	}
	if json.Unmarshal(text, &vol) != nil || vol.Name != name {
		vol = Volume{Name: name}
	}
	vol.Mountpoint = v.data(name)
	return vol, nil
}

// has reports whether there is a volume of that name, however hostile that is.
func (v *volumes) has(name string) bool {
	if _, err := VolumeName(name); err != nil {
		return false
	}
	_, err := v.get(name)
	return err == nil
}

// list returns the volumes in the order of their names.
func (v *volumes) list() ([]Volume, error) {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	var all []Volume
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		vol, wrong := v.get(e.Name())
		if _, gone := errors.AsType[*Refusal](wrong); gone {
			continue // it went meanwhile
		}
		if wrong != nil {
			return nil, wrong
		}
		all = append(all, vol)
	}

	slices.SortFunc(all, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// note writes what is known of a volume.
func (v *volumes) note(vol Volume) error {
	vol.Mountpoint, vol.UsedBy = "", nil
	return atomicfile.WriteJSON(filepath.Join(v.dir, vol.Name, volumeRecord), vol)
}

// make makes a volume, which is empty, unless it is there.
func (v *volumes) make(name string, labels map[string]string) (Volume, error) {
	if vol, err := v.get(name); err == nil {
		return vol, nil
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return Volume{}, err
	}

	made, err := os.MkdirTemp(v.dir, volumeNew)
	if err != nil {
		return Volume{}, fmt.Errorf("make volume %q: %w", name, err)
	}
	vol := Volume{
		Name:    name,
		Created: time.Now(),
		Labels:  labels,
	}
	err = errors.Join(
		os.Mkdir(filepath.Join(made, volumeData), 0o700),
		atomicfile.WriteJSON(filepath.Join(made, volumeRecord), vol))
	if err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, filepath.Join(v.dir, name), unix.RENAME_NOREPLACE)
	}
	if err != nil {
		err = errors.Join(err, v.discard(filepath.Base(made)))
	}
	if err != nil && !errors.Is(err, unix.EEXIST) { // else another one was faster
		return Volume{}, fmt.Errorf("make volume %q: %w", name, err)
	}

	return v.get(name)
}

// moveAway takes a volume from its place; discard removes what there was of it.
func (v *volumes) moveAway(name string) (moved string, err error) {
	if _, err := v.get(name); err != nil {
		return "", err
	}
	away, err := os.MkdirTemp(v.dir, volumeGone)
	if err == nil {
		err = os.Rename(filepath.Join(v.dir, name), filepath.Join(away, name))
	}
	if err != nil {
		return "", fmt.Errorf("remove volume %q: %w", name, err)
	}
	return filepath.Base(away), nil
}

// discard removes a folder that is no volume's place, whatever containers have put there.
func (v *volumes) discard(name string) error {
	root, err := os.OpenRoot(v.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return beneath.RemoveAll(root, name)
}

// discardAll removes several such folders.
func (v *volumes) discardAll(names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, v.discard(name))
	}
	return errors.Join(errs...)
}

// lock has others wait who would look at whether the volume is empty, or fill it.
func (v *volumes) lock(name string) (unlock func()) {
	v.mu.Lock()
	one := v.locks[name]
	if one == nil {
		one = &sync.Mutex{}
		v.locks[name] = one
	}
	v.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// isEmptyFolder reports whether nothing is in a folder.
func isEmptyFolder(root *os.Root) (bool, error) {
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// fill has a volume filled that is empty, by who has its lock. What an earlier try has left of it goes first.
func (v *volumes) fill(name string, fill func(data *os.Root) error) error {
	if err := v.refill(name); err != nil {
		return err
	}
	vol, err := v.get(name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(v.data(name))
	if err != nil {
		return err
	}
	defer root.Close()
	if empty, err := isEmptyFolder(root); err != nil || !empty {
		return err
	}

	vol.Filling = true
	if err := v.note(vol); err != nil {
		return err
	}
	if err := fill(root); err != nil {
		return errors.Join(err, v.refill(name))
	}
	vol.Filling = false
	return v.note(vol)
}
