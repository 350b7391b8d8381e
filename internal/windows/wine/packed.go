package wine

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
)

// A packed prefix is what wineboot makes of an empty folder, as a file, so that it is made once for a machine and not
// for each cluster. It has none of Wine's own programs: a file that equals one of them is told by its name, and comes
// from the Wine that is installed. It fits that Wine only, by version, sizes and times.
//
// It is a tar: first packedIndex, then the files that are in no other place.

// packedIndex is the name of the first file of a packed prefix. Its content is a packedList in JSON.
const packedIndex = "mullion.json"

// packedList tells what is in a packed prefix.
type packedList struct {
	// Originals are the files that the installed Wine has, by their paths in the prefix.
	Originals map[string]original
	// Files is the number of the regular files that follow in the tar.
	Files int
}

// original is a file of Wine's own.
type original struct {
	Path    string // on the machine
	Size    int64
	ModTime time.Time
	Mode    fs.FileMode // of the copy that wineboot made
}

func (o original) same() error {
	info, err := os.Stat(o.Path)
	if err != nil {
		return err
	}
	if info.Size() != o.Size || !info.ModTime().Equal(o.ModTime) || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is another than the one that the packed prefix was made with", o.Path)
	}
	return nil
}

// wineKey returns a hash of what wineboot's work depends on.
func (o Options) wineKey() (string, error) {
	h := sha256.New()
	if err := o.hashWine(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

func packedName(key string) string { return "prefix-" + key + ".tar" }

// Pack makes the packed prefix of the Wine of o in a folder, which it makes too, and returns its file. One that is
// there already is left as it is, and made is false. It takes as long as wineboot. A machine without Wine: see Find.
func Pack(ctx context.Context, o Options, dir string) (file string, made bool, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.find(); err != nil {
		return "", false, err
	}

	key, err := o.wineKey()
	if err != nil {
		return "", false, fmt.Errorf("pack a prefix: %w", err)
	}
	file = filepath.Join(dir, packedName(key))
	if checkPacked(file) == nil { // also for a person who may not write there
		return file, false, nil
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", false, fmt.Errorf("pack a prefix: %w", err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return "", false, fmt.Errorf("pack a prefix: %w", err)
	}
	defer unlock()

	switch err := checkPacked(file); {
	case err == nil:
		return file, false, nil
	case !errors.Is(err, fs.ErrNotExist):
		o.Log.Warn("a packed prefix is of no use and is made again", "file", file, "error", err)
	}

	if err := o.packTo(ctx, file, filepath.Join(dir, makingDir)); err != nil {
		return "", false, fmt.Errorf("pack a prefix: %w", err)
	}

	return file, true, nil
}

// packTo makes a prefix in the folder tmp and packs it. What a killed run left there is removed.
func (o Options) packTo(ctx context.Context, file, tmp string) (err error) {
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()

	prefix := filepath.Join(tmp, "prefix")
	if err := o.wineboot(ctx, tmp, prefix); err != nil {
		return err
	}

	packed := filepath.Join(tmp, "packed")
	if err := o.writePacked(packed, prefix); err != nil {
		return err
	}
	return os.Rename(packed, file)
}

// writePacked packs what adopt takes of a prefix.
func (o Options) writePacked(file, prefix string) (err error) {
	list, own, err := o.listPrefix(prefix)
	if err != nil {
		return err
	}
	index, err := json.Marshal(list)
	if err != nil {
		return err
	}

	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	t := tar.NewWriter(out)
	header := &tar.Header{
		Name: packedIndex,
		Mode: 0o644,
		Size: int64(len(index)),
	}
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	if _, err := t.Write(index); err != nil {
		return err
	}

	for _, name := range own {
		if err := addTo(t, prefix, name); err != nil {
			return err
		}
	}

	return errors.Join(t.Close(), out.Sync())
}

// listPrefix lists what adopt takes of a prefix. own are the paths in it that Wine does not have, folders before what
// is in them.
func (o Options) listPrefix(prefix string) (list packedList, own []string, err error) {
	list.Originals = map[string]original{}
	err = filepath.WalkDir(prefix, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == prefix {
			return err
		}
		name, err := filepath.Rel(prefix, path)
		if err != nil {
			return err
		}

		switch {
		case !packs(name):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil

		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				return err
			}
			from, err := o.originalOf(path, info.Mode().Perm())
			if err != nil {
				return err
			}

			if from != nil {
				list.Originals[name] = *from
				return nil
			}
			list.Files++

		case !e.IsDir():
			return nil // links lead to the folders of the user who runs wineboot
		}

		own = append(own, name)
		return nil
	})
	return list, own, err
}

// packs reports whether adopt wants a file or folder of a prefix. Of a user's profile it wants the name.
func packs(name string) bool {
	parts := strings.Split(filepath.ToSlash(name), "/")
	switch {
	case parts[0] != driveC:
		return len(parts) == 1 && parts[0] != "dosdevices"
	case len(parts) > 3 && parts[1] == "users":
		return parts[2] == "Public"
	}
	return true
}

func addTo(t *tar.Writer, prefix, name string) error {
	info, err := os.Lstat(filepath.Join(prefix, name))
	if err != nil {
		return err
	}

	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     filepath.ToSlash(name),
		Mode:     int64(info.Mode().Perm()),
		Size:     info.Size(),
		ModTime:  info.ModTime(),
		Format:   tar.FormatPAX,
	}

	if info.IsDir() {
		h.Typeflag, h.Size = tar.TypeDir, 0
		return t.WriteHeader(h)
	}

	if err := t.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(prefix, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return errors.Join(err, f.Close())
}

// originalOf returns the file of Wine's own that a file of a prefix equals, nil if there is none.
func (o Options) originalOf(file string, mode fs.FileMode) (*original, error) {
	for _, dir := range []string{o.Install.WindowsDir(), filepath.Join(o.Install.DataDir, "nls")} {
		from := filepath.Join(dir, filepath.Base(file))
		same, err := sameContent(file, from)
		if err != nil {
			return nil, err
		}
		if !same {
			continue
		}

		info, err := os.Stat(from)
		if err != nil {
			return nil, err
		}
		return &original{from, info.Size(), info.ModTime(), mode}, nil
	}

	return nil, nil
}

// unpack makes a prefix of the first packed one in o.Packed that fits the installed Wine, and reports whether there was
// one. What it lacks yet are files of Wine's own, by their paths in the prefix: see addOriginals. One that does not
// fit, or is damaged, is said in the log; nothing of it stays in prefix.
func (o Options) unpack(prefix string) (lacks map[string]original, there bool, err error) {
	if len(o.Packed) == 0 {
		return nil, false, nil
	}
	key, err := o.wineKey()
	if err != nil {
		return nil, false, err
	}

	for _, dir := range o.Packed {
		file := filepath.Join(dir, packedName(key))
		lacks, err := unpackFile(file, prefix)
		if err == nil {
			return lacks, true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			o.Log.Warn("a packed prefix is of no use", "file", file, "error", err)
		}

		if err := os.RemoveAll(prefix); err != nil {
			return nil, false, err
		}
	}

	return nil, false, nil
}

func unpackFile(file, prefix string) (lacks map[string]original, err error) {
	if err := os.MkdirAll(prefix, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(prefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	list, err := readPacked(file, func(h *tar.Header, content io.Reader) error {
		mode := fs.FileMode(h.Mode).Perm()
		if h.Typeflag == tar.TypeDir {
			return root.Mkdir(h.Name, mode)
		}
		return writeIn(root, h.Name, mode, h.ModTime, content)
	})
	if err != nil {
		return nil, err
	}

	for name, from := range list.Originals {
		if err := from.same(); err != nil {
			return nil, err
		}
		if !strings.HasPrefix(name, driveC+"/") {
			return nil, fmt.Errorf("it has %q of Wine's own, which is on no drive", name)
		}
		if _, err := root.Lstat(path.Dir(name)); err != nil { // also of a name that leads out of the prefix
			return nil, err
		}
	}

	return list.Originals, nil
}

// checkPacked returns what is wrong with a packed prefix.
func checkPacked(file string) error {
	list, err := readPacked(file, func(_ *tar.Header, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	})
	if err != nil {
		return err
	}

	for _, from := range list.Originals {
		if err := from.same(); err != nil {
			return err
		}
	}

	return nil
}

// readPacked calls each for all folders and files of a packed prefix, and returns its list.
func readPacked(file string, each func(h *tar.Header, content io.Reader) error) (packedList, error) {
	in, err := os.Open(file)
	if err != nil {
		return packedList{}, err
	}
	defer func() { _ = in.Close() }() // it was only read

	t := tar.NewReader(in)
	list, err := readIndex(t)
	if err != nil {
		return list, err
	}

	files := 0
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return list, err
		}

		if h.Typeflag != tar.TypeDir {
			files++
		}
		if err := each(h, t); err != nil {
			return list, err
		}
	}

	if files != list.Files {
		return list, fmt.Errorf("it has %d files instead of %d", files, list.Files)
	}

	return list, nil
}

func readIndex(t *tar.Reader) (list packedList, err error) {
	h, err := t.Next()
	if err != nil {
		return list, err
	}
	if h.Name != packedIndex {
		return list, fmt.Errorf("it begins with %q instead of %s", h.Name, packedIndex)
	}
	err = json.NewDecoder(t).Decode(&list)
	return list, err
}

func writeIn(root *os.Root, name string, mode fs.FileMode, at time.Time, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close(), root.Chtimes(name, at, at))
}

// addOriginals gives a base layer the files of Wine's own that its prefix lacked, but where Mullion has a program of
// its own. They are further names of the installed files, so nothing is written to the layer after this.
func addOriginals(base string, lacks map[string]original) error {
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it

	for name, from := range lacks {
		name = layerName(name)
		if _, err := root.Lstat(name); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := linkOriginal(from, filepath.Join(base, name)); err != nil {
			return err
		}
	}

	return nil
}

// linkOriginal makes another name of a file of Wine's own, or else a copy that everybody can read.
func linkOriginal(from original, to string) error {
	if os.Link(from.Path, to) == nil {
		return nil
	}
	info, err := filecopy.New(from.Path, to, from.Mode.Perm()|0o444)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// PackedDir is where a machine has its packed prefixes. They are no cluster's, so `mullion down` leaves them.
const PackedDir = "/var/cache/mullion"

// PackedDirs returns the folders that may have a packed prefix: the machine's, and that of a checkout beside its
// programs, which are in bin.
func PackedDirs(bin string) []string { return []string{PackedDir, filepath.Join(bin, "wine")} }

// RemovePacked removes the packed prefixes of a folder and returns their names, and the folder if nothing else is in
// it.
func RemovePacked(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	for _, e := range entries {
		if ok, _ := path.Match(packedName("*"), e.Name()); !ok {
			continue
		}
		file := filepath.Join(dir, e.Name())
		if err := os.Remove(file); err != nil {
			return files, err
		}
		files = append(files, file)
	}

	err = errors.Join(os.RemoveAll(filepath.Join(dir, makingDir)), os.Remove(filepath.Join(dir, lockName)))
	if err != nil {
		return files, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return files, err
	}
	return files, nil
}

// makingDir is where a packed prefix is made, in the folder that will have it.
const makingDir = ".making"
