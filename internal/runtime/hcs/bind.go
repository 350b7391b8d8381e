package hcs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/bindmount"
	"mullion.dev/mullion/internal/windows/wine"
)

// Windows' bind filter shows a file or folder at another place, its root. Here a mapping is a bind mount on the host's
// drive, that is made where the drive is mounted and appears in the host. The kernel's table of mounts is the only list
// of mappings: an agent that starts again knows them all.
//
// A mapping shows a file or folder of the drive, or one of a volume. When a volume goes, or changes, its mappings go.
const (
	bindReadOnly = 0x1
	bindOnlyOne  = 0x40 // it fails if the root has a mapping
)

// What BfGetMappings is asked for.
const bindOfVolume = 0x1

// mostMappings bounds the mappings of a host: each is a mount of the machine's, which has 100,000.
const mostMappings = 256

// mapping is what is shown at a place of the drive.
type mapping struct {
	// mount is its id, as that of mountinfo, parent that of the mount that it is in, and at the place on the machine.
	mount, parent int
	at            string
	// volume is the GUID of the volume that the target is on; "": the drive.
	volume string
	// root and target are Windows paths.
	root, target string
	readOnly     bool
}

// setupFilter shows a target at a root. A root that is not there is made, as a folder, and stays.
func (l *layers) setupFilter(flagText, root, target string) error {
	flags, err := strconv.ParseUint(flagText, 10, 32)
	if err != nil {
		return refuse(InvalidArg, "%q are no flags of a mapping", flagText)
	}
	if flags&^(bindReadOnly|bindOnlyOne) != 0 {
		return refuse(NotSupported, "the flags 0x%x of a mapping are not supported", flags)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	source, err := l.openTarget(target)
	if err != nil {
		return err
	}
	defer source.Close()

	at, err := l.openPlace(root, source)
	if err != nil {
		return err
	}
	defer at.Close()
	_, isRoot, err := bindmount.Of(at)
	if err != nil {
		return err
	}

	if isRoot {
		if flags&bindOnlyOne != 0 {
			return refuse(InvalidArg, "%q has a mapping", root)
		}
		return refuse(NotSupported, "%q has a mapping, and several at one place are not supported", root)
	}
	if err := l.mayMap(source, at, target, root); err != nil {
		return err
	}

	attributes := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if flags&bindReadOnly != 0 {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	// Nobody follows links of a volume, in a mapping neither: the mount has the attributes of the one that it is from.
	return bindmount.Single(source, int(at.Fd()), attributes)
}

// mayMap refuses mappings that nobody could count or take back: from or to what else is mounted on the drive, such as
// the volumes of pods, and at a folder with something mounted below it, to which no name would lead any more.
func (l *layers) mayMap(source, at *os.File, target, root string) error {
	t, err := l.mounts()
	if err != nil {
		return err
	}
	if len(t.mappings) >= mostMappings {
		return refuse(NoResources, "the host has %d mappings", len(t.mappings))
	}

	for winPath, f := range map[string]*os.File{target: source, root: at} {
		mount, _, err := bindmount.Of(f)
		if err != nil {
			return err
		}
		if !t.own[mount] {
			return refuse(NotSupported, "%q is neither the drive's nor a scratch's: something else is mounted there", winPath)
		}
	}

	for _, m := range t.all {
		if strings.HasPrefix(m.Mountpoint, at.Name()+"/") {
			return refuse(NotSupported, "a mapping at %q, below which something is mounted, is not supported", root)
		}
	}

	return nil
}

// openTarget opens what a mapping is to show; l.mu is held.
func (l *layers) openTarget(winPath string) (*os.File, error) {
	drive := l.cfg.Drive
	if guid, rest, is := volumeOf(winPath); is {
		if !l.isShown(guid) {
			return nil, refuse(PathNotFound, "there is no volume {%s}", guid)
		}
		drive, winPath = filepath.Join(l.cfg.Volumes, guid), `C:`+rest
		if other, err := mountsOther(drive); err != nil || other { // a mapping would keep a disk from being taken out
			return nil, errors.Join(err, refuse(NotSupported, "the volume {%s} is no scratch's", guid))
		}
	}

	f, err := wine.OpenExisting(drive, winPath, wine.Mounted{})
	if err != nil {
		return nil, refuse(PathNotFound, "open the target of a mapping: %v", err)
	}
	return f, nil
}

// volumeOf returns the GUID in a volume's path, and what follows it.
func volumeOf(winPath string) (guid, rest string, is bool) {
	const prefix = `\\?\volume{`
	if len(winPath) < len(prefix) || !strings.EqualFold(winPath[:len(prefix)], prefix) {
		return "", "", false
	}
	guid, rest, closed := strings.Cut(winPath[len(prefix):], "}")
	id, err := uuid.Parse(guid)
	if !closed || err != nil || len(guid) != len(id.String()) {
		return "", "", false
	}
	return id.String(), rest, true
}

// openPlace opens the place of a mapping, which is like the target.
func (l *layers) openPlace(winPath string, target *os.File) (*os.File, error) {
	if _, _, is := volumeOf(winPath); is {
		return nil, refuse(NotSupported, "a mapping on a volume, %q, is not supported", winPath)
	}
	info, err := target.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the target of a mapping: %w", err)
	}

	at, err := wine.OpenExisting(l.cfg.Drive, winPath, wine.Mounted{})
	if errors.Is(err, fs.ErrNotExist) && info.IsDir() {
		at, err = wine.OpenSource(l.cfg.Drive, winPath, nil, wine.Mounted{}) // which makes it
	}
	if err != nil {
		return nil, refuse(PathNotFound, "open the root of a mapping: %v", err)
	}

	place, err := at.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("look at the root of a mapping: %w", err)
	case place.IsDir() != info.IsDir():
		err = refuse(InvalidArg, "of the root %q and its target one alone is a folder", winPath)
	case !place.IsDir() && !place.Mode().IsRegular():
		err = refuse(InvalidArg, "the root %q is no file", winPath)
	case l.isDrive(place):
		err = refuse(InvalidArg, "the root of a mapping is the drive")
	}
	if err != nil {
		return nil, errors.Join(err, at.Close())
	}

	return at, nil
}

func (l *layers) isDrive(info fs.FileInfo) bool {
	drive, err := os.Stat(l.cfg.Drive)
	return err == nil && os.SameFile(drive, info)
}

// removeMapping takes back what is shown at a root.
func (l *layers) removeMapping(root string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := wine.OpenExisting(l.cfg.Drive, root, wine.Mounted{})
	if err != nil {
		return refuse(NoElement, "there is no mapping: %v", err)
	}
	defer at.Close()

	mount, isRoot, err := bindmount.Of(at)
	if err != nil {
		return err
	}
	t, err := l.mounts()
	if err != nil {
		return err
	}
	all := t.mappings
	i := slices.IndexFunc(all, func(m mapping) bool { return m.mount == mount })
	if i < 0 || !isRoot {
		return refuse(NoElement, "there is no mapping at %q", root)
	}

	return l.unmap(all[i], at)
}

// unmap takes back a mapping whose root is open, with those that are in it; l.mu is held.
func (l *layers) unmap(m mapping, at *os.File) error {
	if err := bindmount.Detach(at); err != nil {
		return fmt.Errorf("take back mapping %q: %w", m.root, err)
	}
	return l.removeStreams(m)
}

// removeStreams removes the alternate streams of a root. Wine has a stream as a file beside the one that it is of, with
// a colon in its name; on Windows those of a root are the target's, and are not seen without the mapping.
func (l *layers) removeStreams(m mapping) error {
	drive, err := os.OpenRoot(l.cfg.Drive)
	if err != nil {
		return err
	}
	defer drive.Close()
	name, err := filepath.Rel(realFolder(l.cfg.Drive), m.at)
	if err != nil {
		return err
	}
	folder, err := beneath.OpenFolder(drive, filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for streams of %q: %w", m.root, err)
	}
	defer folder.Close()

	stream := filepath.Base(name) + ":"
	for {
		const some = 1024
		names, err := folder.Readdirnames(some)
		for _, n := range names {
			if len(n) <= len(stream) || !strings.EqualFold(n[:len(stream)], stream) {
				continue
			}
			if err := unix.Unlinkat(int(folder.Fd()), n, 0); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("remove stream %q of %q: %w", n, m.root, err)
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for streams of %q: %w", m.root, err)
		}
	}
}

// unmapVolume takes back the mappings of a volume, which goes or changes; l.mu is held.
func (l *layers) unmapVolume(guid string) error {
	// A mapping in another one goes with it, and a path may lead elsewhere by now: it is looked up anew each time.
	for range mostMappings + 1 {
		t, err := l.mounts()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(t.mappings, func(m mapping) bool { return m.volume == guid })
		if i < 0 {
			return nil
		}
		if err := l.unmapAt(uppermost(t.mappings, t.mappings[i])); err != nil {
			return err
		}
	}

	return fmt.Errorf("the mappings of volume {%s} do not go", guid)
}

// uppermost returns the mapping that lies over a mapping's root, so that no name leads to that root, and over which
// none lies; m if none lies over it. A program that moves folders in time makes such.
func uppermost(all []mapping, m mapping) mapping {
	byID := map[int]mapping{}
	for _, one := range all {
		byID[one.mount] = one
	}

	for range all {
		within := map[int]bool{m.mount: true} // m, and the mappings that it is in
		for in, is := byID[m.parent]; is && !within[in.mount]; in, is = byID[in.parent] {
			within[in.mount] = true
		}
		i := slices.IndexFunc(all, func(over mapping) bool {
			return !within[over.mount] && strings.HasPrefix(m.at+"/", over.at+"/")
		})
		if i < 0 {
			break
		}
		m = all[i]
	}

	return m
}

// unmapAt opens a mapping's root and takes the mapping back.
func (l *layers) unmapAt(m mapping) error {
	at, err := bindmount.Open(realFolder(l.cfg.Drive), m.mount, m.at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody has moved it, and it is looked for again
	}
	if err != nil {
		return fmt.Errorf("open mapping %q: %w", m.root, err)
	}
	defer at.Close()
	return l.unmap(m, at)
}

// realFolder returns a folder of the configuration without links on the way to it.
func realFolder(folder string) string {
	if way, err := filepath.EvalSymlinks(folder); err == nil {
		return way
	}
	return folder
}

// mounted is what is mounted on the machine.
type mounted struct {
	all []*mountinfo.Info
	// mappings are what is mounted on the drive that is of the drive itself or of a volume, in the order in which it
	// was mounted. What else is mounted there is none.
	mappings []mapping
	// own are the mounts that programs of the host may have shown, by their ids: the drive, volumes of scratches, and
	// mappings.
	own map[int]bool
}

func (l *layers) mounts() (mounted, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return mounted{}, fmt.Errorf("list mappings: %w", err)
	}
	drive := realFolder(l.cfg.Drive)
	on := holder(mounts, drive)
	t := mounted{
		all: mounts,
		own: map[int]bool{on.ID: true},
	}

	shown := map[string]string{} // a place where files are shown from, and the GUID of its volume
	for _, m := range mounts {
		if filepath.Dir(m.Mountpoint) == realFolder(l.cfg.Volumes) {
			shown[source(m, "")] = filepath.Base(m.Mountpoint)
			t.own[m.ID] = true
		}
	}

	home := source(on, drive)
	for _, m := range mounts {
		below, isBelow := strings.CutPrefix(m.Mountpoint, drive+"/")
		if !isBelow {
			continue
		}
		one := mapping{
			mount:    m.ID,
			parent:   m.Parent,
			at:       m.Mountpoint,
			root:     `C:\` + windows(below),
			readOnly: slices.Contains(strings.Split(m.Options, ","), "ro"),
		}
		if one.shows(source(m, ""), home, shown) {
			t.mappings, t.own[m.ID] = append(t.mappings, one), true
		}
	}

	return t, nil
}

// shows fills in what a mapping shows that is mounted from a place, and reports whether it is one.
func (m *mapping) shows(from, home string, volumes map[string]string) bool {
	if rest, is := within(from, home); is {
		m.target = `C:\` + rest
		return true
	}
	for place, guid := range volumes {
		if rest, is := within(from, place); is {
			m.volume, m.target = guid, (&scratch{guid: guid}).volume()+`\`+rest
			return true
		}
	}
	return false
}

// source returns where a file below a mount is in the mount's file system, which no other one has.
func source(m *mountinfo.Info, file string) string {
	below := ""
	if file != "" {
		below = strings.TrimPrefix(file, m.Mountpoint)
	}
	return fmt.Sprintf("%d:%d%s", m.Major, m.Minor, path.Join("/", m.Root, below))
}

// holder returns the mount that a path is on: of those at one place the last.
func holder(mounts []*mountinfo.Info, at string) *mountinfo.Info {
	found := &mountinfo.Info{Mountpoint: "/", Root: "/"}
	for _, m := range mounts {
		point := strings.TrimSuffix(m.Mountpoint, "/")
		if (at == m.Mountpoint || strings.HasPrefix(at, point+"/")) && len(m.Mountpoint) >= len(found.Mountpoint) {
			found = m
		}
	}
	return found
}

// within returns the rest of a path below a folder, or at it, as Windows writes it.
func within(file, folder string) (rest string, is bool) {
	if file == folder {
		return "", true
	}
	rest, is = strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
	return windows(rest), is
}

func windows(name string) string { return strings.ReplaceAll(name, "/", `\`) }

// listMappings answers BfGetMappings: a line for each mapping, of its flags, its root and its target, with tabs between
// them.
func (l *layers) listMappings(flagText, winPath string) (string, error) {
	if flagText != strconv.Itoa(bindOfVolume) {
		return "", refuse(NotSupported, "mappings are listed by their volume, not by the flags %q", flagText)
	}
	at, err := wine.OpenExisting(l.cfg.Drive, winPath, wine.Mounted{})
	if err != nil {
		return "", refuse(PathNotFound, "open the volume whose mappings are asked for: %v", err)
	}
	defer at.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	t, err := l.mounts()
	if err != nil {
		return "", err
	}

	var lines strings.Builder
	for _, m := range t.mappings {
		flags := bindOnlyOne
		if m.readOnly {
			flags |= bindReadOnly
		}
		if strings.ContainsAny(m.root+m.target, "\t\n") { // names that Windows has not got
			continue
		}
		fmt.Fprintf(&lines, "%d\t%s\t%s\n", flags, m.root, m.target)
	}

	return lines.String(), nil
}
