package powershell

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The exceptions of the module Microsoft.PowerShell.Archive, whose words the errors here are
// (https://github.com/PowerShell/Microsoft.PowerShell.Archive).
const (
	archiveException = "System.IO.IOException"
	archiveNotFound  = "System.InvalidOperationException"
)

// stop is an error of the cmdlet that ends the statement.
func (c *call) stop(class, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	r := &record{message: message, shown: c.name + " : " + message, class: class}
	return &leaving{word: "throw", statement: true, what: &instance{recordClass(), r}}
}

func (c *call) noArchivePath(path string) error {
	return c.stop(archiveNotFound, "The path '%s' either does not exist or is not a valid file system path.", path)
}

// zipOnly is the error for an archive whose name does not end in .zip.
func (c *call) zipOnly(path string) error {
	const words = "%s is not a supported archive file format. .zip is the only supported archive file format."
	if extension := filepath.Ext(path); !strings.EqualFold(extension, ".zip") {
		return c.stop(archiveException, words, extension)
	}
	return nil
}

// destination is the path of -DestinationPath, without wild cards.
func (c *call) destination() (string, error) {
	path := c.text("destinationpath")
	if err := c.knownPath(path); err != nil {
		return "", err
	}
	if path == "" {
		return "", thrown("%s : Cannot bind argument to parameter 'DestinationPath' because it is an empty string.",
			c.name)
	}
	if hasWildcard(path) {
		return "", thrown("%s : wild cards in -DestinationPath are not part of Mullion's PowerShell.", c.name)
	}
	return filepath.Clean(c.f.in.path(path)), nil
}

// packed is an item of a new archive. The name of a folder ends with a slash.
type packed struct{ path, name string }

// compressArchive makes an archive of files and folders. It is written beside its place, and takes it when it is whole.
func compressArchive(c *call) error {
	to, err := c.newArchive()
	if err != nil {
		return err
	}
	items, err := c.pack(to)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(to), "~archive*.zip")
	if err != nil {
		return c.fail(because(to, err))
	}
	defer os.Remove(file.Name()) // it is gone if all went well
	count, err := c.writeArchive(file, to, items)
	err = errors.Join(err, file.Close())
	if left, ended := errors.AsType[*leaving](err); ended {
		return left
	}
	if err == nil && c.flags["force"] {
		if err = os.Remove(to); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && count > 0 { // of nothing there is no archive, as in PowerShell
		err = os.Rename(file.Name(), to)
	}
	if err != nil {
		return c.fail(fmt.Errorf("%s: %w", to, err))
	}
	return nil
}

// newArchive is the path of the archive to make. An existing one needs -Force or -Update.
func (c *call) newArchive() (string, error) {
	to, err := c.destination()
	if err != nil {
		return "", err
	}
	if c.flags["force"] && c.flags["update"] {
		return "", raise("System.Management.Automation.ParameterBindingException",
			"Parameter set cannot be resolved using the specified named parameters.")
	}
	if parent, err := os.Stat(filepath.Dir(to)); err != nil || !parent.IsDir() {
		return "", c.noArchivePath(filepath.Dir(to))
	}
	if filepath.Ext(to) == "" {
		to += ".zip"
	}
	if err := c.zipOnly(to); err != nil {
		return "", err
	}
	info, missing := os.Stat(to)
	switch {
	case missing != nil || info.IsDir() || c.flags["force"]:
	case !c.flags["update"]:
		return "", c.stop(archiveException, "The archive file %s already exists. Use the -Update parameter to update "+
			"the existing archive file or use the -Force parameter to overwrite the existing archive file.", to)
	case info.Mode().Perm()&0o200 == 0:
		return "", c.stop(archiveException, "The attributes of the archive file %s is set to 'ReadOnly' hence it "+
			"cannot be updated. If you intend to update the existing archive file, remove the 'ReadOnly' attribute on "+
			"the archive file else use -Force parameter to override and create a new archive file.", to)
	}
	return to, nil //nolint:nilerr // an archive that is not there is made
}

// pack are the items of a new archive: the contents of folders, with the folders' names, and then the files. The
// archive itself is none of them.
func (c *call) pack(to string) ([]packed, error) {
	found, missed, err := c.targets()
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		return nil, c.noArchivePath(missed[0])
	}
	set := map[bool]string{false: "Path", true: "LiteralPath"}[c.values[literalName] != nil] +
		map[bool]string{true: "WithForce"}[c.flags["force"]] + map[bool]string{true: "WithUpdate"}[c.flags["update"]]
	var folders, files []packed
	seen := map[string]bool{}
	for _, t := range found {
		if seen[lower(t.name)] {
			return nil, c.stop(archiveException, "The input to %s parameter contains a duplicate path '%s'. "+
				"Provide a unique set of paths as input to %s parameter.", set, t.name, set)
		}
		seen[lower(t.name)] = true
		full := filepath.Clean(t.full)
		info, err := os.Stat(full)
		switch {
		case err != nil || !info.IsDir() && !info.Mode().IsRegular():
			return nil, c.noArchivePath(t.name)
		case info.IsDir():
			name := strings.Trim(filepath.Base(full), `/\`)
			if err := c.packFolder(full, name, &folders); err != nil {
				return nil, err
			}
		default:
			files = append(files, packed{full, filepath.Base(full)})
		}
	}
	items := append(folders, files...)
	itself := func(p packed) bool { return strings.EqualFold(p.path, to) }
	return slices.DeleteFunc(items, itself), nil
}

// packFolder adds what is in a folder. Folders are items of their own only if they have no files.
func (c *call) packFolder(dir, name string, items *[]packed) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c.fail(because(dir, err))
	}
	var below []packed
	for _, e := range entries {
		one := packed{filepath.Join(dir, e.Name()), strings.TrimPrefix(name+"/"+e.Name(), "/")}
		info, err := os.Stat(one.path)
		switch {
		case err != nil:
			if err := c.fail(because(one.path, err)); err != nil {
				return err
			}
		case info.IsDir() && !e.IsDir():
			return thrown("%s : a link to a folder, %s, is not part of Mullion's PowerShell.", c.name, one.path)
		case info.IsDir():
			below = append(below, one)
		case !info.Mode().IsRegular():
			if err := c.fail(fmt.Errorf("%s is no file", one.path)); err != nil {
				return err
			}
		default:
			*items = append(*items, one)
		}
	}
	for _, folder := range below {
		inside, err := os.ReadDir(folder.path)
		if err == nil && !slices.ContainsFunc(inside, func(e fs.DirEntry) bool { return !e.IsDir() }) {
			*items = append(*items, packed{folder.path, folder.name + "/"})
		}
		if err := c.packFolder(folder.path, folder.name, items); err != nil {
			return err
		}
	}
	return nil
}

// writeArchive writes an archive of items, with -Update of the other items of the existing archive too. It returns how
// many there are.
func (c *call) writeArchive(file io.Writer, to string, items []packed) (count int, err error) {
	w := zip.NewWriter(file)
	level := lower(c.text("compressionlevel"))
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		if level == "fastest" {
			return flate.NewWriter(out, flate.BestSpeed)
		}
		return flate.NewWriter(out, flate.DefaultCompression)
	})
	if c.flags["update"] {
		if count, err = c.keep(w, to, items); err != nil {
			return 0, err
		}
	}
	for _, p := range items {
		source, info, err := openItem(p)
		if err != nil {
			if err := c.fail(because(p.path, err)); err != nil {
				return 0, err
			}
			continue
		}
		header := &zip.FileHeader{Name: p.name, Method: zip.Deflate, Modified: info.ModTime()}
		if header.Modified.Year() < 1980 { // the first year that archives have
			header.Modified = time.Date(1980, 1, 1, 0, 0, 0, 0, time.Local)
		}
		if level == "nocompression" {
			header.Method = zip.Store
		}
		into, err := w.CreateHeader(header)
		if err == nil && !info.IsDir() {
			err = copyAll(c.f.in.ctx, into, source)
		}
		if err = errors.Join(err, source.Close()); err != nil {
			return 0, err
		}
		count++
	}
	return count, w.Close()
}

func openItem(p packed) (*os.File, fs.FileInfo, error) {
	file, err := os.Open(p.path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// copyAll copies, until the session ends.
func copyAll(ctx context.Context, to io.Writer, from io.Reader) error {
	const piece = 1 << 20
	for {
		_, err := io.CopyN(to, from, piece)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// keep copies what an existing archive has beside the new items. It returns how many items these are.
func (c *call) keep(w *zip.Writer, archive string, items []packed) (count int, err error) {
	old, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer old.Close()
	r, err := c.openArchive(old)
	if err != nil {
		return 0, err
	}
	for _, f := range r.File {
		name := strings.ReplaceAll(f.Name, `\`, "/")
		if slices.ContainsFunc(items, func(p packed) bool { return strings.EqualFold(p.name, name) }) {
			continue
		}
		if err := w.Copy(f); err != nil {
			return 0, err
		}
		count++
	}
	return count, nil
}

// openArchive reads the list of an archive's items.
func (c *call) openArchive(file *os.File) (*zip.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(file, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // unpack checks the names
		return nil, c.stop("", "File '%s' does not appear to be a valid zip archive.", file.Name())
	}
	return r, nil
}

// expandArchive unpacks archives.
func expandArchive(c *call) error {
	if slices.ContainsFunc([]string{pathName, literalName}, func(p string) bool {
		return len(slices.Collect(each(c.values[p]))) > 1
	}) {
		return raise("System.Management.Automation.ParameterBindingException",
			"Cannot process argument transformation on parameter 'Path'. Cannot convert value to type System.String.")
	}
	found, _, err := c.targets()
	if err != nil {
		return err
	}
	for _, t := range found {
		if err := c.expand(t); err != nil {
			return err
		}
	}
	return nil
}

// expand unpacks one archive into -DestinationPath, or a folder of the archive's name in the current one.
func (c *call) expand(t target) error {
	base := filepath.Base(t.full)
	folder := filepath.Join(c.f.in.dir, strings.TrimSuffix(base, filepath.Ext(base)))
	if _, given := c.values["destinationpath"]; given {
		var err error
		if folder, err = c.destination(); err != nil {
			return err
		}
	}
	if info, err := os.Stat(t.full); err != nil || info.IsDir() {
		return c.noArchivePath(t.name)
	}
	if err := c.zipOnly(t.full); err != nil {
		return err
	}
	file, err := os.Open(t.full)
	if err != nil {
		return c.fail(because(t.name, err))
	}
	defer file.Close()
	r, err := c.openArchive(file)
	if err != nil {
		return err
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return c.stop(archiveException, "An item with the specified name %s already exists.", folder)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return c.fail(because(folder, err))
	}
	return c.unpackAll(r.File, t.full, folder)
}

// unpackAll writes the items of an archive into a folder. An error with one does not stop the others.
func (c *call) unpackAll(items []*zip.File, archive, folder string) error {
	for _, f := range items {
		err := c.unpack(f, archive, folder)
		if ended := c.f.in.ctx.Err(); ended != nil {
			return ended
		}
		if _, left := errors.AsType[*leaving](err); err != nil && !left {
			err = c.fail(fmt.Errorf("unpack '%s': %w", f.Name, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// device matches the names that Windows keeps for devices, with any extension.
var device = lazyregexp.New(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9¹²³]|conin\$|conout\$) *(\.|$)`)

// inside is the path of an archive's item in the folder into which it is unpacked, and whether it is a folder. ok is
// false for an item that is neither a file nor a folder, and for a name that Windows could take for a path elsewhere or
// for another name: with .., a drive or another stream, an absolute one, a device, with a point or blank at the end.
func inside(f *zip.File) (path string, folder, ok bool) {
	name := strings.ReplaceAll(f.Name, `\`, "/")
	kind := f.Mode().Type()
	folder = strings.HasSuffix(name, "/") || kind == fs.ModeDir
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		switch {
		case part == ".":
			continue
		case part == "", strings.TrimRight(part, ". ") != part, device.MatchString(part),
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || strings.ContainsRune(`:*?"<>|`, r) }):
			return "", false, false
		}
		parts = append(parts, part)
	}
	path = filepath.Join(append([]string{"."}, parts...)...)
	return path, folder, (kind == 0 || kind == fs.ModeDir) && filepath.IsLocal(path)
}

// wayTo makes the folders above a path in a folder. It follows no links there.
func wayTo(folder, rel string) error {
	above := folder
	for part := range strings.SplitSeq(filepath.Dir(rel), string(filepath.Separator)) {
		above = filepath.Join(above, part)
		if info, err := os.Lstat(above); part != "." && err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no folder", above)
		}
	}
	return os.MkdirAll(above, 0o755)
}

// unpack writes one item of an archive.
func (c *call) unpack(f *zip.File, archive, folder string) error {
	rel, isFolder, ok := inside(f)
	if !ok {
		return c.fail(itsWords("Can not process invalid archive entry '%s'.", f.Name))
	}
	if err := wayTo(folder, rel); err != nil {
		return err
	}
	path := filepath.Join(folder, rel)
	info, err := os.Lstat(path)
	switch {
	case isFolder && err == nil && info.IsDir():
		return nil
	case isFolder && err != nil:
		return os.Mkdir(path, 0o755)
	case err == nil && (isFolder || info.IsDir()):
		return fmt.Errorf("%s is in its place", path)
	case err == nil && !c.flags["force"]:
		return c.fail(itsWords("Failed to create file '%[1]s' while expanding the archive file '%[2]s' contents as "+
			"the file '%[1]s' already exists. Use the -Force parameter if you want to overwrite the existing "+
			"directory '%[1]s' contents when expanding the archive file.", path, archive))
	case err == nil:
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return c.unpackFile(f, path)
}

// unpackFile writes a new file of an archive. Of an item that is broken nothing stays.
func (c *call) unpackFile(f *zip.File, path string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = copyAll(c.f.in.ctx, out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if f.Modified.IsZero() {
		return nil
	}
	return os.Chtimes(path, f.Modified, f.Modified)
}

func archiveCmdlets() []cmdlet {
	to := []string{"destinationpath"}
	return []cmdlet{
		ofPath(cmdlet{
			name:      "Compress-Archive",
			about:     "makes an archive, .zip, of files and folders",
			run:       compressArchive,
			values:    append(to, "compressionlevel"),
			flags:     []string{"force", "update"},
			positions: to,
			needs:     []string{pathName, "destinationpath"},
			allowed:   map[string][]string{"compressionlevel": {"optimal", "fastest", "nocompression"}},
		}),
		ofPath(cmdlet{
			name:      "Expand-Archive",
			about:     "unpacks an archive, .zip",
			run:       expandArchive,
			values:    to,
			flags:     []string{"force"},
			positions: to,
			needs:     []string{pathName},
		}),
	}
}
