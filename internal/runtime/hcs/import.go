package hcs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

// A layer above others is imported from a folder in which each file is its attributes and its backup streams, and a
// folder has a file beside it for its own
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/wclayer/legacy.go). Afterwards hcsshim deletes from
// the layer what the image deletes from the layers below, and takes "not found" for success. So the layer gets what the
// layers below have in its folders, too: files as hard links, folders as empty ones, which change nothing where layers
// are merged. What of them is gone when the layer is used is hidden, by a layer of its own just below.
const (
	folderSuffix = ".$wcidirs$"
	hives        = "Hives"
	recordName   = "mullion-layer.json"
	maxRecord    = 64 << 20
	// mostNames bounds what a layer shares with those below: the names of the largest image's folders.
	mostNames = 1 << 20
)

// record says what a layer shares with the layers below it. It lies in the layer's folder, where the host's programs
// may change it: all that it says is done in the layer.
type record struct {
	// Hidden is the name of the folder of the machine that hides what is gone.
	Hidden string
	// Shared are paths in C:, with slashes.
	Shared []string
}

// importer imports a layer.
type importer struct {
	from, to, system *os.Root
	below            levels
	record           record
	// links are the files with several names that are imported already.
	links map[inode]string
	// pending are the links to make when all else is there, and how many bytes they have.
	pending     []link
	pendingSize int
	// listings are the folders that makeLinks has read.
	listings map[string]map[string]entry
}

// importLayer makes a layer of a folder in the transport form. The layer's folder may have a scratch, which is imported
// into itself. If it fails before the layer is whole, the folder is as it was; afterwards, where a part cannot be put
// in its place, there is no layer.
func (l *layers) importLayer(winPath, folder string, parents []string) (err error) {
	if len(parents) == 0 {
		return refuse(InvalidArg, "the layer %q has no layers below", winPath)
	}
	there := l.exists(winPath)
	if err := l.createFolder(winPath); err != nil {
		return err
	}

	defer func() {
		if err != nil && !there {
			err = errors.Join(err, l.removeFolder(winPath))
		}
	}()
	_, replaced, err := l.belongings(winPath)
	if err != nil {
		return err
	}

	err = l.within(winPath, func(layer *os.Root) error {
		// What an import has left that was ended in the middle.
		if err := beneath.RemoveAll(layer, staging); err != nil {
			return fmt.Errorf("remove what is left of an import: %w", err)
		}
		err := l.stage(layer, folder, parents)
		if err == nil {
			err = install(layer)
		}
		return errors.Join(err, beneath.RemoveAll(layer, staging))
	})

	if _, now, lost := l.belongings(winPath); lost == nil && replaced != "" && now != replaced {
		err = errors.Join(err, os.RemoveAll(l.hiddenDir(replaced)))
	}
	return err
}

// staging is the folder of a layer in which it is made.
const staging = "mullion-import"

// stage makes a layer in the folder staging of its own.
func (l *layers) stage(layer *os.Root, folder string, parents []string) error {
	im := importer{
		record:   record{Hidden: uuid.NewString()},
		links:    map[inode]string{},
		listings: map[string]map[string]entry{},
	}
	defer im.close()
	err := layer.Mkdir(staging, 0o755)
	if err != nil {
		return fmt.Errorf("make folder of import: %w", err)
	}
	if im.to, err = layer.OpenRoot(staging); err != nil {
		return fmt.Errorf("make folder of import: %w", err)
	}

	if im.from, err = l.openRoot(folder); err != nil {
		return err
	}
	if im.system, err = os.OpenRoot(l.cfg.SystemDrive); err != nil {
		return fmt.Errorf("open the system's drive: %w", err)
	}
	if im.below, err = l.openBelow(parents); err != nil {
		return err
	}

	if err := im.folder(files, files, "."); err != nil {
		return err
	}
	if err := im.makeLinks(); err != nil {
		return err
	}
	if err := im.hives(); err != nil {
		return err
	}

	text, err := json.Marshal(im.record)
	if err != nil {
		return err
	}
	return beneath.Write(im.to, recordName, text, 0o644)
}

// install puts a layer that was made in staging in the place of one that its folder has. The record comes last: without
// it there is no layer.
func install(layer *os.Root) error {
	parts := []string{recordName, hives, files}
	var errs []error
	for _, part := range parts {
		errs = append(errs, beneath.RemoveAll(layer, part))
	}

	for _, part := range slices.Backward(parts) {
		err := layer.Rename(filepath.Join(staging, part), part)
		if err != nil && (part != hives || !errors.Is(err, fs.ErrNotExist)) { // a layer may have no registry
			errs = append(errs, err)
		}
	}
	if errors.Join(errs...) == nil {
		return nil
	}

	for _, part := range parts {
		errs = append(errs, beneath.RemoveAll(layer, part))
	}

	return fmt.Errorf("put the layer in its place: %w", errors.Join(errs...))
}

// openRoot opens the folder of a layer.
func (l *layers) openRoot(winPath string) (*os.Root, error) {
	drive, name, err := l.at(winPath)
	if err != nil {
		return nil, err
	}
	defer drive.Close()
	folder, err := drive.OpenRoot(name)
	if err != nil {
		return nil, refuse(PathNotFound, "open %q: %v", winPath, err)
	}
	return folder, nil
}

func (im *importer) close() {
	for _, root := range []*os.Root{im.from, im.to, im.system} {
		if root != nil {
			_ = root.Close()
		}
	}
	im.below.close()
}

// names returns the entries of a folder by their lower case; none if there is no such folder.
func names(root *os.Root, at string) map[string]fs.DirEntry {
	entries, err := beneath.ReadFolder(root, at, 0)
	if err != nil {
		return nil
	}
	all := map[string]fs.DirEntry{}
	for _, e := range entries {
		all[strings.ToLower(e.Name())] = e
	}
	return all
}

// folder imports a folder, and shares with it what the layers below have there. below is its path in Wine's C:.
func (im *importer) folder(from, to, below string) error {
	entries, err := beneath.ReadFolder(im.from, from, 0)
	if errors.Is(err, fs.ErrNotExist) && from == files {
		return im.to.MkdirAll(files, 0o755)
	}
	if err != nil {
		return refuse(InvalidArg, "read folder of layer: %v", err)
	}

	if err := im.to.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make folder of layer: %w", err)
	}

	others, system := im.below.merged(to), names(im.system, below)
	seen := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), folderSuffix) {
			continue
		}
		lower, name := strings.ToLower(e.Name()), e.Name()
		if err := checkName(name); err != nil {
			return err
		}

		if seen[lower] {
			return refuse(AlreadyThere, "%q is there twice, in two letter cases", filepath.Join(from, name))
		}
		seen[lower] = true
		if s, ok := system[lower]; ok {
			name = s.Name()
		}

		if o, ok := others[lower]; ok {
			name = o.name
			delete(others, lower)
		}

		if e.IsDir() {
			err = im.folderOrLink(filepath.Join(from, e.Name()), filepath.Join(to, name), filepath.Join(below, name))
		} else {
			err = im.file(filepath.Join(from, e.Name()), filepath.Join(to, name))
		}
		if err != nil {
			return err
		}
	}

	return im.share(to, others)
}

// folderOrLink imports a folder, or the link that it is by the file beside it.
func (im *importer) folderOrLink(from, to, below string) error {
	own, err := openRegular(im.from, from+folderSuffix)
	if err != nil {
		return im.folder(from, to, below) // it says nothing of itself
	}
	defer own.Close()
	reparse, err := readStreams(bufio.NewReader(own), io.Discard)
	if err != nil {
		return err
	}
	if reparse == nil {
		return im.folder(from, to, below)
	}
	return im.later(to, reparse, true)
}

// later keeps a link for makeLinks.
func (im *importer) later(to string, reparse []byte, isFolder bool) error {
	t, err := parseReparse(reparse)
	if err != nil {
		return err
	}

	im.pendingSize += len(to) + len(t.path)
	switch {
	case len(t.path) > longestLink:
		return refuse(InvalidName, "the link %q leads to a path of %d bytes", to, len(t.path))
	case im.pendingSize > mostLinks:
		return refuse(NotSupported, "the layer has too many links")
	}

	im.pending = append(im.pending, link{
		at:       to,
		to:       t,
		isFolder: isFolder,
	})
	return nil
}

// share puts entries of the layers below into a folder.
func (im *importer) share(to string, others map[string]found) error {
	for _, o := range others {
		at := filepath.Join(to, o.name)
		switch info, err := o.level.Lstat(at); {
		case err != nil, !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0:
			continue // nothing that a layer has
		case info.IsDir():
			if err := im.to.MkdirAll(at, 0o755); err != nil {
				return fmt.Errorf("share folder with layer: %w", err)
			}

		default:
			if err := im.shareFile(o.level, at); err != nil {
				return err
			}
		}

		if len(im.record.Shared) == mostNames {
			return refuse(NotSupported, "the layer shares too many names with those below")
		}
		im.record.Shared = append(im.record.Shared, filepath.ToSlash(at))
	}

	return nil
}

// shareFile makes a hard link of a file or link of a layer below, both opened in their layers.
func (im *importer) shareFile(level *os.Root, at string) error {
	source, err := level.OpenFile(at, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("share file with layer: %w", err)
	}
	defer source.Close()
	folder, err := beneath.OpenFolder(im.to, filepath.Dir(at))
	if err != nil {
		return fmt.Errorf("share file with layer: %w", err)
	}

	defer folder.Close()
	err = unix.Linkat(int(source.Fd()), "", int(folder.Fd()), filepath.Base(at), unix.AT_EMPTY_PATH)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("share file %q with layer: %w", at, err)
	}
	return nil
}

// file imports a file from its attributes and streams.
func (im *importer) file(from, to string) error {
	source, err := openRegular(im.from, from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}

	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		id := inode{stat.Dev, stat.Ino}
		if first, there := im.links[id]; there {
			if err := im.to.Link(first, to); err != nil {
				return fmt.Errorf("link file of layer: %w", err)
			}
			return nil
		}
		im.links[id] = to
	}

	target, err := im.to.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("make file of layer: %w", err)
	}
	reparse, err := readStreams(bufio.NewReaderSize(source, 1<<16), target)
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	if reparse != nil {
		if err := im.to.Remove(to); err != nil {
			return fmt.Errorf("make link of layer: %w", err)
		}
		return im.later(to, reparse, false)
	}

	return im.to.Chtimes(to, info.ModTime(), info.ModTime())
}

// openRegular opens a file of a folder in which others write: a pipe in its place would hold up the service.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, refuse(InvalidArg, "read %q of layer: %v", name, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, refuse(InvalidArg, "%q of layer is no file", name)
	}
	return f, nil
}

// Streams of a backup (winnt.h, BACKUP_…).
const (
	streamData         = 1
	streamReparse      = 8
	streamSparseBlock  = 9
	maxStreamName      = 64 << 10
	streamHeaderLength = 20
)

// readStreams writes the data of a file's backup streams, and returns its reparse point; nil: it is none. Security
// descriptors, extended attributes and alternate streams have no place here and are dropped.
func readStreams(r io.Reader, data io.Writer) (reparse []byte, err error) {
	var attributes [4]byte
	if _, err := io.ReadFull(r, attributes[:]); err != nil {
		return nil, refuse(InvalidArg, "read attributes of a file: %v", err)
	}

	for {
		s, err := readStreamHeader(r)
		if errors.Is(err, io.EOF) {
			return reparse, nil
		}
		if err != nil {
			return nil, err
		}

		var point bytes.Buffer
		to := io.Discard
		switch s.id {
		case streamData:
			to = data
		case streamReparse:
			if s.size > maxReparse || reparse != nil {
				return nil, refuse(InvalidArg, "a file has a reparse point of %d bytes, or several", s.size)
			}
			to = &point
		}

		if _, err := io.CopyN(to, r, s.size); err != nil {
			return nil, refuse(InvalidArg, "a stream of a file ends early")
		}
		if s.id == streamReparse {
			reparse = point.Bytes()
		}
	}
}

// streamHeader is the head of a backup stream (winnt.h, WIN32_STREAM_ID).
type streamHeader struct {
	id   uint32
	size int64
}

// readStreamHeader reads up to a stream's data, past its name. The error is io.EOF if there are no more streams.
func readStreamHeader(r io.Reader) (streamHeader, error) {
	var header [streamHeaderLength]byte
	_, err := io.ReadFull(r, header[:])
	if errors.Is(err, io.EOF) {
		return streamHeader{}, io.EOF
	}
	if err != nil {
		return streamHeader{}, refuse(InvalidArg, "read stream of a file: %v", err)
	}

	s := streamHeader{
		id:   binary.LittleEndian.Uint32(header[:]),
		size: int64(binary.LittleEndian.Uint64(header[8:])),
	}
	name := int64(binary.LittleEndian.Uint32(header[16:]))
	if s.size < 0 || name > maxStreamName {
		return s, refuse(InvalidArg, "a stream of a file has %d bytes, its name %d", s.size, name)
	}
	if s.id == streamSparseBlock {
		return s, refuse(NotSupported, "sparse files in layers are not supported")
	}

	if _, err := io.CopyN(io.Discard, r, name); err != nil {
		return s, refuse(InvalidArg, "a stream of a file ends early")
	}
	return s, nil
}

// hives copies the layer's changes of the registry, which are files.
func (im *importer) hives() error {
	if _, err := im.from.Lstat(hives); err == nil {
		if err := im.to.MkdirAll(hives, 0o755); err != nil {
			return fmt.Errorf("make folder of hives: %w", err)
		}
	}

	for _, e := range names(im.from, hives) {
		if e.IsDir() || strings.HasSuffix(e.Name(), folderSuffix) {
			continue
		}
		text, err := beneath.Read(im.from, filepath.Join(hives, e.Name()), maxRecord)
		if err != nil {
			return refuse(InvalidArg, "read hive %q of layer: %v", e.Name(), err)
		}

		if err := beneath.Write(im.to, filepath.Join(hives, e.Name()), text, 0o644); err != nil {
			return fmt.Errorf("write hive of layer: %w", err)
		}
	}

	return nil
}

// hide makes the folder that hides what a layer has deleted, from what it shared and no longer has, and opens it; nil:
// the layer hides nothing. It is made at the first use of the layer.
func (l *layers) hide(folder *os.Root) (*os.Root, error) {
	text, err := beneath.Read(folder, recordName, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var r record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}

	id, parseErr := uuid.Parse(r.Hidden)
	if err = errors.Join(err, parseErr); err != nil {
		return nil, refuse(InvalidArg, "read %s of layer: %v", recordName, err)
	}
	dir := l.hiddenDir(id.String())
	l.hiding.Lock()
	defer l.hiding.Unlock()

	if _, err := os.Lstat(dir); err == nil {
		return os.OpenRoot(dir)
	}
	if err := makeHidden(dir+".new", folder, r.Shared); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir+".new"))
	}
	if err := os.Rename(dir+".new", dir); err != nil {
		return nil, fmt.Errorf("hide what a layer deletes: %w", err)
	}

	return os.OpenRoot(dir)
}

// makeHidden makes a folder with a whiteout for each of the names that a layer has not got
// (https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories).
func makeHidden(dir string, folder *os.Root, shared []string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("hide what a layer deletes: %w", err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(files, 0o755); err != nil {
		return err
	}

	for _, name := range shared {
		if err := checkShared(name); err != nil {
			return err
		}
		if _, err := folder.Lstat(filepath.FromSlash(name)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := whiteout(root, name); err != nil {
			return fmt.Errorf("hide %q: %w", name, err)
		}
	}

	return nil
}

// checkShared refuses a name of a record that leads out of the layer.
func checkShared(name string) error {
	if name != path.Clean(name) || !strings.HasPrefix(name, files+"/") {
		return refuse(InvalidArg, "%q is no name in a layer", name)
	}
	return nil
}

func whiteout(root *os.Root, name string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	folder, err := beneath.OpenFolder(root, path.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return unix.Mknodat(int(folder.Fd()), path.Base(name), unix.S_IFCHR, 0)
}
