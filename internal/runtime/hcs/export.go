package hcs

import (
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
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/wine"
)

// A layer is exported into the transport form that import.go describes. What a container wrote is the upper folder of
// its overlay: the whiteouts in it, and what an opaque folder hides, become lines of a file. A layer that was imported
// has names of the layers below as links; those that are left as they were are none of its own.
const (
	tombstones = "tombstones.txt"
	// tombstonesHead is the file's first line, with the mark of UTF-8
	// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.3/internal/wclayer/legacy.go, readTombstones).
	tombstonesHead = "\xef\xbb\xbfVersion 1.0\n"
	// deepestName is how deep folders of a layer lie at most: as many as a path of Windows has room for, near enough.
	deepestName = 1024

	attributeFolder  = 0x10
	attributeArchive = 0x20
)

// exporter exports a layer.
type exporter struct {
	from, to *os.Root
	below    levels
	// shared are the names of an imported layer that it had of those below.
	shared map[string]bool
	gone   []string
	// registry is what a container has changed in its registry; nil: the layer has its changes as files.
	registry *wine.RegistryChanges
	// links are the files with several names that are there already.
	links map[inode]string
}

type inode struct{ dev, ino uint64 }

// exportLayer writes a layer, or what a container has written to its scratch, into a folder.
func (l *layers) exportLayer(winPath, folder string, parents []string) (err error) {
	ex := exporter{links: map[inode]string{}, shared: map[string]bool{}}
	defer ex.close()
	if err := l.createFolder(folder); err != nil {
		return err
	}
	if ex.to, err = l.openRoot(folder); err != nil {
		return err
	}

	if ex.below, err = l.openBelow(parents); err != nil {
		return err
	}
	l.registries.Lock()
	defer l.registries.Unlock()
	if err := ex.source(l, winPath, parents); err != nil {
		return err
	}

	if err := ex.to.MkdirAll(files, 0o755); err != nil {
		return fmt.Errorf("make folder of exported layer: %w", err)
	}
	if err := ex.folder(files, 0); err != nil {
		return err
	}
	if err := ex.hives(); err != nil {
		return err
	}

	if err := ex.userSettings(); err != nil {
		return err
	}
	return ex.tombstones()
}

func (ex *exporter) close() {
	for _, root := range []*os.Root{ex.from, ex.to} {
		if root != nil {
			_ = root.Close()
		}
	}
	ex.below.close()
}

// source opens what is exported: what was written to the scratch, if the layer has one, else the layer's own folder. A
// scratch comes first though the layer has been imported into its folder: whoever commits a scratch does that, also
// with nothing in it when the export has failed.
func (ex *exporter) source(l *layers, winPath string, parents []string) (err error) {
	guid, _, err := l.belongings(winPath)
	if err != nil {
		return err
	}
	if guid != "" {
		if _, err := os.Lstat(filepath.Join(l.dirOf(guid), "fs")); err == nil {
			return ex.scratch(l, winPath, parents)
		}
	}

	if ex.from, err = l.openRoot(winPath); err != nil {
		return err
	}
	text, err := beneath.Read(ex.from, recordName, maxRecord)
	if err == nil {
		return ex.readShared(text)
	}

	if !errors.Is(err, fs.ErrNotExist) {
		return refuse(InvalidArg, "read %s of layer: %v", recordName, err)
	}
	if _, err := ex.from.Lstat(sandboxDisk); err != nil {
		return nil //nolint:nilerr // It is the first layer of an image, of files alone.
	}
	_ = ex.from.Close()
	return ex.scratch(l, winPath, parents)
}

// scratch opens what was written to a scratch, to be exported.
func (ex *exporter) scratch(l *layers, winPath string, parents []string) error {
	s, err := l.activate(winPath)
	if err != nil {
		return err
	}
	if ex.from, err = os.OpenRoot(filepath.Join(s.dir, "fs")); err != nil {
		return fmt.Errorf("open scratch: %w", err)
	}
	changes, err := l.registryOf(s, parents)
	if err != nil {
		return err
	}
	ex.registry = &changes
	return nil
}

// registryOf returns what the container of a scratch has changed in its registry.
func (l *layers) registryOf(s *scratch, parents []string) (changes wine.RegistryChanges, err error) {
	user, err := s.userOf()
	if err != nil {
		return changes, err
	}
	opened, err := l.open(parents)
	if err != nil {
		return changes, err
	}
	defer closeAll(opened)
	return l.cfg.Engine.ScratchRegistry(s.dir, opened, user)
}

func (ex *exporter) readShared(text []byte) error {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return refuse(InvalidArg, "read %s of layer: %v", recordName, err)
	}

	for _, name := range r.Shared {
		if err := checkShared(name); err != nil {
			return err
		}
		ex.shared[name] = true
		if _, err := ex.from.Lstat(filepath.FromSlash(name)); errors.Is(err, fs.ErrNotExist) {
			ex.gone = append(ex.gone, name)
		}
	}

	return nil
}

// folder exports what is in a folder.
func (ex *exporter) folder(at string, depth int) error {
	if depth > deepestName {
		return refuse(InvalidName, "the folders of the layer are too deep")
	}
	entries, err := beneath.ReadFolder(ex.from, at, 0)
	if errors.Is(err, fs.ErrNotExist) && at == files {
		return nil // nothing was written
	}

	if err != nil {
		return fmt.Errorf("read folder of layer: %w", err)
	}
	if depth == 0 && ex.isOpaque(at) {
		return refuse(NotSupported, "the container has removed its drive and made it again")
	}

	below, hidden := ex.under(at, depth)
	seen := map[string]bool{}
	for _, e := range entries {
		lower := strings.ToLower(e.Name())
		if strings.ContainsRune(lower, ':') {
			continue // an alternate stream, which has no place in a layer
		}
		if err := checkName(e.Name()); err != nil {
			return err
		}

		if seen[lower] {
			return refuse(AlreadyThere, "%q is there twice, in two letter cases", filepath.Join(at, e.Name()))
		}
		seen[lower] = true
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("look at file of layer: %w", err)
		}

		if !engine.IsWhiteout(info) {
			delete(hidden, lower)
		}
		if err := ex.entry(filepath.Join(at, e.Name()), info, below[lower], depth); err != nil {
			return err
		}
	}

	for _, o := range hidden {
		ex.gone = append(ex.gone, filepath.ToSlash(filepath.Join(at, o.name)))
	}

	return nil
}

// under returns the entries of a folder in the layers below, by their lower case, if they matter, and those of them
// that the folder hides.
func (ex *exporter) under(at string, depth int) (below, hidden map[string]found) {
	if len(ex.shared) > 0 {
		below = ex.below.merged(at)
	}
	if depth > 0 && ex.isOpaque(at) {
		hidden = ex.below.merged(at)
	}
	return below, hidden
}

// entry exports a file or a folder; below is what the layers below have by its name, if they have something.
func (ex *exporter) entry(at string, info fs.FileInfo, below found, depth int) error {
	name := filepath.ToSlash(at)
	switch {
	case engine.IsWhiteout(info):
		ex.gone = append(ex.gone, name)
		return nil

	case info.Mode()&fs.ModeSocket != 0:
		return nil // of a program that has ended
	case info.IsDir():
		if ex.shared[name] && ex.isBare(at) {
			return nil
		}
		if err := ex.to.MkdirAll(at, 0o755); err != nil {
			return fmt.Errorf("make folder of exported layer: %w", err)
		}
		if err := ex.write(at+folderSuffix, info, attributeFolder, nil); err != nil {
			return err
		}

		return ex.folder(at, depth+1)

	case ex.shared[name] && below.is(at, info):
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return ex.link(at, info)
	case !info.Mode().IsRegular():
		return refuse(NotSupported, "%q of the layer is no file, which layers do not have", at)
	}

	return ex.file(at)
}

// isBare reports whether a folder has nothing in it.
func (ex *exporter) isBare(at string) bool {
	f, err := beneath.OpenFolder(ex.from, at)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// isOpaque reports whether a folder hides that of the layers below.
func (ex *exporter) isOpaque(at string) bool {
	f, err := beneath.OpenFolder(ex.from, at)
	if err != nil {
		return false
	}
	defer f.Close()
	return engine.IsOpaque(f)
}

// file exports a file. A further name of one that is there is a link.
func (ex *exporter) file(at string) error {
	source, err := openRegular(ex.from, at)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}

	stat, _ := info.Sys().(*syscall.Stat_t)
	if stat != nil && stat.Nlink > 1 {
		id := inode{stat.Dev, stat.Ino}
		if first, there := ex.links[id]; there {
			if err := ex.to.Link(first, at); err != nil {
				return fmt.Errorf("link file of exported layer: %w", err)
			}
			return nil
		}
		ex.links[id] = at
	}

	return ex.write(at, info, attributeArchive, source)
}

// write writes a file of the transport form.
func (ex *exporter) write(at string, info fs.FileInfo, attributes uint32, source *os.File) error {
	return ex.make(at, info.ModTime(), func(target *os.File) error {
		head := headOf(attributes)
		if source != nil {
			head = dataHead(head, info.Size())
		}
		_, err := target.Write(head)
		if err == nil && source != nil {
			err = copySparse(target, source, int64(len(head)), info.Size())
		}
		return err
	})
}

// make makes a file with a time, and calls fill with it.
func (ex *exporter) make(at string, modified time.Time, fill func(target *os.File) error) error {
	target, err := ex.to.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make file of exported layer: %w", err)
	}
	err = fill(target)
	if err = errors.Join(err, target.Close()); err != nil {
		return fmt.Errorf("export %q: %w", at, err)
	}
	return ex.to.Chtimes(at, modified, modified)
}

// writeLink writes a link of the transport form.
func (ex *exporter) writeLink(at string, modified time.Time, attributes uint32, to target) error {
	point := to.encode()
	return ex.make(at, modified, func(target *os.File) error {
		_, err := target.Write(append(streamHead(headOf(attributes), streamReparse, int64(len(point))), point...))
		return err
	})
}

// headOf returns how a file of the transport form begins; without data it is all of it.
func headOf(attributes uint32) []byte { return binary.LittleEndian.AppendUint32(nil, attributes) }

// dataHead appends the header of a stream of data.
func dataHead(head []byte, size int64) []byte { return streamHead(head, streamData, size) }

// streamHead appends the header of a stream without a name.
func streamHead(head []byte, id uint32, size int64) []byte {
	head = binary.LittleEndian.AppendUint32(head, id)
	head = binary.LittleEndian.AppendUint32(head, 0)
	head = binary.LittleEndian.AppendUint64(head, uint64(size))
	return binary.LittleEndian.AppendUint32(head, 0)
}

// copySparse copies so many bytes of a file to an offset of another. What is a hole, of any size, stays one.
func copySparse(to, from *os.File, offset, size int64) error {
	if size > 1<<62 {
		return refuse(NotSupported, "a file of %d bytes is too large", size)
	}

	for at := int64(0); at < size; {
		begin, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || begin >= size {
			break // a hole up to the end
		}
		if err != nil {
			return err
		}

		end, err := unix.Seek(int(from.Fd()), begin, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		end = min(end, size)
		n, err := io.Copy(io.NewOffsetWriter(to, offset+begin), io.NewSectionReader(from, begin, end-begin))
		if err != nil {
			return err
		}

		if n == 0 {
			break // it has become shorter
		}
		at = begin + n
	}

	return to.Truncate(offset + size)
}

// tombstones writes what the layer deletes from those below, as paths from C:.
func (ex *exporter) tombstones() error {
	slices.Sort(ex.gone)
	text := bytes.NewBufferString(tombstonesHead)
	for _, name := range slices.Compact(ex.gone) {
		if err := checkName(path.Base(name)); err != nil {
			return err
		}
		text.WriteString(strings.ReplaceAll(strings.TrimPrefix(name, files), "/", `\`) + "\n")
	}
	if err := beneath.Write(ex.to, tombstones, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write what the layer deletes: %w", err)
	}
	return nil
}

// checkName refuses a name that Windows has not got, or that means something else in the transport form: a container's
// programs may make any name of Linux.
func checkName(name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`\/:*?"<>|`, r) }) ||
		strings.HasSuffix(strings.ToLower(name), folderSuffix) || name == "." || name == ".." {
		return refuse(InvalidName, "%q is no name in a layer", name)
	}
	return nil
}
