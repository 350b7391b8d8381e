package archive

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

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The exceptions of the module Microsoft.PowerShell.Archive, whose words the errors here are
// (https://github.com/PowerShell/Microsoft.PowerShell.Archive).
const (
	archiveException = "System.IO.IOException"
	archiveNotFound  = "System.InvalidOperationException"
)

// stop returns an error of the cmdlet that ends the statement.
func stop(class, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	r := &object.ErrorRecord{Message: message, Class: class}
	return &object.Leaving{
		Word:      "throw",
		Statement: true,
		What:      &object.Instance{Of: object.RecordClass(), V: r},
	}
}

func noArchivePath(path string) error {
	return stop(archiveNotFound, "The path '%s' either does not exist or is not a valid file system path.", path)
}

// zipOnly returns the error for an archive whose name does not end in .zip.
func zipOnly(path string) error {
	const words = "%s is not a supported archive file format. .zip is the only supported archive file format."
	if extension := filepath.Ext(path); !strings.EqualFold(extension, ".zip") {
		return stop(archiveException, words, extension)
	}
	return nil
}

// destination returns the path of -DestinationPath, without wild cards.
func destination(c *cmdlet.Call) (string, error) {
	path := c.Text("destinationpath")
	if err := c.KnownPath(path); err != nil {
		return "", err
	}
	if path == "" {
		return "", object.Thrown("%s : Cannot bind argument to parameter 'DestinationPath' because it is an empty string.",
			c.Name)
	}
	if provider.HasWildcard(path) {
		return "", object.Thrown("%s : wild cards in -DestinationPath are not part of Mullion's PowerShell.", c.Name)
	}
	return filepath.Clean(c.State.Path(path)), nil
}

// packed is an item of a new archive. The name of a folder ends with a slash.
type packed struct{ path, name string }

// compressArchive makes an archive of files and folders. It is written beside its place, and takes it when it is whole.
func compressArchive(c *cmdlet.Call) error {
	to, err := newArchive(c)
	if err != nil {
		return err
	}
	items, err := pack(c, to)
	if err != nil {
		return err
	}

	file, err := os.CreateTemp(filepath.Dir(to), "~archive*.zip")
	if err != nil {
		return c.Fail(provider.Because(to, err))
	}
	defer os.Remove(file.Name()) // it is gone if all went well
	count, err := writeArchive(c, file, to, items)
	err = errors.Join(err, file.Close())
	if left, ended := errors.AsType[*object.Leaving](err); ended {
		return left
	}

	if err == nil && c.Flags["force"] {
		if err = os.Remove(to); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && count > 0 { // of nothing there is no archive, as in PowerShell
		err = os.Rename(file.Name(), to)
	}
	if err != nil {
		return c.Fail(fmt.Errorf("%s: %w", to, err))
	}

	return nil
}

// newArchive returns the path of the archive to make. An existing one needs -Force or -Update.
func newArchive(c *cmdlet.Call) (string, error) {
	to, err := destination(c)
	if err != nil {
		return "", err
	}
	if c.Flags["force"] && c.Flags["update"] {
		return "", object.Raise("System.Management.Automation.ParameterBindingException",
			"Parameter set cannot be resolved using the specified named parameters.")
	}

	if parent, err := os.Stat(filepath.Dir(to)); err != nil || !parent.IsDir() {
		return "", noArchivePath(filepath.Dir(to))
	}
	if filepath.Ext(to) == "" {
		to += ".zip"
	}
	if err := zipOnly(to); err != nil {
		return "", err
	}

	info, missing := os.Stat(to)
	switch {
	case missing != nil || info.IsDir() || c.Flags["force"]:
	case !c.Flags["update"]:
		return "", stop(archiveException, "The archive file %s already exists. Use the -Update parameter to update "+
			"the existing archive file or use the -Force parameter to overwrite the existing archive file.", to)
	case info.Mode().Perm()&0o200 == 0:
		return "", stop(archiveException, "The attributes of the archive file %s is set to 'ReadOnly' hence it "+
			"cannot be updated. If you intend to update the existing archive file, remove the 'ReadOnly' attribute on "+
			"the archive file else use -Force parameter to override and create a new archive file.", to)
	}

	return to, nil //nolint:nilerr // an archive that is not there is made
}

// pack returns the items of a new archive: the contents of folders, with the folders' names, and then the files. The
// archive itself is none of them.
func pack(c *cmdlet.Call, to string) ([]packed, error) {
	found, missed, err := c.Targets()
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		return nil, noArchivePath(missed[0])
	}

	set := map[bool]string{false: "Path", true: "LiteralPath"}[c.Values[cmdlet.LiteralName] != nil] +
		map[bool]string{true: "WithForce"}[c.Flags["force"]] + map[bool]string{true: "WithUpdate"}[c.Flags["update"]]
	var folders, files []packed
	seen := map[string]bool{}
	for _, t := range found {
		if seen[strings.ToLower(t.Name)] {
			return nil, stop(archiveException, "The input to %s parameter contains a duplicate path '%s'. "+
				"Provide a unique set of paths as input to %s parameter.", set, t.Name, set)
		}

		seen[strings.ToLower(t.Name)] = true
		full := filepath.Clean(t.Full)
		info, err := os.Stat(full)
		switch {
		case err != nil || (!info.IsDir() && !info.Mode().IsRegular()):
			return nil, noArchivePath(t.Name)
		case info.IsDir():
			name := strings.Trim(filepath.Base(full), `/\`)
			if err := packFolder(c, full, name, &folders); err != nil {
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
func packFolder(c *cmdlet.Call, dir, name string, items *[]packed) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c.Fail(provider.Because(dir, err))
	}

	var below []packed
	for _, e := range entries {
		one := packed{filepath.Join(dir, e.Name()), strings.TrimPrefix(name+"/"+e.Name(), "/")}
		info, err := os.Stat(one.path)
		switch {
		case err != nil:
			if err := c.Fail(provider.Because(one.path, err)); err != nil {
				return err
			}

		case info.IsDir() && !e.IsDir():
			return object.Thrown("%s : a link to a folder, %s, is not part of Mullion's PowerShell.", c.Name, one.path)
		case info.IsDir():
			below = append(below, one)
		case !info.Mode().IsRegular():
			if err := c.Fail(fmt.Errorf("%s is no file", one.path)); err != nil {
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
		if err := packFolder(c, folder.path, folder.name, items); err != nil {
			return err
		}
	}

	return nil
}

// writeArchive writes an archive of items, with -Update of the other items of the existing archive too. It returns how
// many there are.
func writeArchive(c *cmdlet.Call, file io.Writer, to string, items []packed) (count int, err error) {
	w := zip.NewWriter(file)
	level := strings.ToLower(c.Text("compressionlevel"))
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		if level == "fastest" {
			return flate.NewWriter(out, flate.BestSpeed)
		}
		return flate.NewWriter(out, flate.DefaultCompression)
	})

	if c.Flags["update"] {
		if count, err = keep(w, to, items); err != nil {
			return 0, err
		}
	}

	for _, p := range items {
		source, info, err := openItem(p)
		if err != nil {
			if err := c.Fail(provider.Because(p.path, err)); err != nil {
				return 0, err
			}
			continue
		}

		header := &zip.FileHeader{
			Name:     p.name,
			Method:   zip.Deflate,
			Modified: info.ModTime(),
		}
		if header.Modified.Year() < 1980 { // the first year that archives have
			header.Modified = time.Date(1980, 1, 1, 0, 0, 0, 0, time.Local)
		}

		if level == "nocompression" {
			header.Method = zip.Store
		}

		into, err := w.CreateHeader(header)
		if err == nil && !info.IsDir() {
			err = copyAll(c.State.Context, into, source)
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
func keep(w *zip.Writer, archive string, items []packed) (count int, err error) {
	old, err := os.Open(archive)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer old.Close()
	r, err := openArchive(old)
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
func openArchive(file *os.File) (*zip.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(file, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // unpack checks the names
		return nil, stop("", "File '%s' does not appear to be a valid zip archive.", file.Name())
	}
	return r, nil
}

// expandArchive unpacks archives.
func expandArchive(c *cmdlet.Call) error {
	if slices.ContainsFunc([]string{cmdlet.PathName, cmdlet.LiteralName}, func(p string) bool {
		return len(slices.Collect(object.Each(c.Values[p]))) > 1
	}) {
		return object.Raise("System.Management.Automation.ParameterBindingException",
			"Cannot process argument transformation on parameter 'Path'. Cannot convert value to type System.String.")
	}

	found, _, err := c.Targets()
	if err != nil {
		return err
	}
	for _, t := range found {
		if err := expand(c, t); err != nil {
			return err
		}
	}

	return nil
}

// expand unpacks one archive into -DestinationPath, or a folder of the archive's name in the current one.
func expand(c *cmdlet.Call, t cmdlet.Target) error {
	base := filepath.Base(t.Full)
	folder := filepath.Join(c.State.Dir, strings.TrimSuffix(base, filepath.Ext(base)))
	if _, given := c.Values["destinationpath"]; given {
		var err error
		if folder, err = destination(c); err != nil {
			return err
		}
	}

	if info, err := os.Stat(t.Full); err != nil || info.IsDir() {
		return noArchivePath(t.Name)
	}
	if err := zipOnly(t.Full); err != nil {
		return err
	}

	file, err := os.Open(t.Full)
	if err != nil {
		return c.Fail(provider.Because(t.Name, err))
	}
	defer file.Close()
	r, err := openArchive(file)
	if err != nil {
		return err
	}

	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return stop(archiveException, "An item with the specified name %s already exists.", folder)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return c.Fail(provider.Because(folder, err))
	}
	return unpackAll(c, r.File, t.Full, folder)
}

// unpackAll writes the items of an archive into a folder. An error with one does not stop the others.
func unpackAll(c *cmdlet.Call, items []*zip.File, archive, folder string) error {
	for _, f := range items {
		err := unpack(c, f, archive, folder)
		if ended := c.State.Context.Err(); ended != nil {
			return ended
		}
		if _, left := errors.AsType[*object.Leaving](err); err != nil && !left {
			err = c.Fail(fmt.Errorf("unpack '%s': %w", f.Name, err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// device matches the names that Windows keeps for devices, with any extension.
var device = lazyregexp.New(`(?i)^(con|prn|aux|nul|(com|lpt)[0-9¹²³]|conin\$|conout\$) *(\.|$)`)

// inside returns the path of an archive's item in the folder into which it is unpacked, and whether it is a folder. ok
// is false for an item that is neither a file nor a folder, and for a name that Windows could take for a path elsewhere
// or for another name: with .., a drive or another stream, an absolute one, a device, with a point or blank at the end.
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
func unpack(c *cmdlet.Call, f *zip.File, archive, folder string) error {
	rel, isFolder, ok := inside(f)
	if !ok {
		return c.Fail(words.Errorf("Can not process invalid archive entry '%s'.", f.Name))
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
	case err == nil && !c.Flags["force"]:
		return c.Fail(words.Errorf("Failed to create file '%[1]s' while expanding the archive file '%[2]s' contents as "+
			"the file '%[1]s' already exists. Use the -Force parameter if you want to overwrite the existing "+
			"directory '%[1]s' contents when expanding the archive file.", path, archive))

	case err == nil:
		if err := os.Remove(path); err != nil {
			return err
		}
	}

	return unpackFile(c, f, path)
}

// unpackFile writes a new file of an archive. Of an item that is broken nothing stays.
func unpackFile(c *cmdlet.Call, f *zip.File, path string) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}

	err = copyAll(c.State.Context, out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if f.Modified.IsZero() {
		return nil
	}
	return os.Chtimes(path, f.Modified, f.Modified)
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	to := []string{"destinationpath"}
	return []cmdlet.Cmdlet{
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Compress-Archive",
			Wild:      true,
			About:     "makes an archive, .zip, of files and folders",
			Run:       compressArchive,
			Values:    append(to, "compressionlevel"),
			Flags:     []string{"force", "update"},
			Positions: to,
			Needs:     []string{cmdlet.PathName, "destinationpath"},
			Allowed:   map[string][]string{"compressionlevel": {"optimal", "fastest", "nocompression"}},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Expand-Archive",
			About:     "unpacks an archive, .zip",
			Run:       expandArchive,
			Values:    to,
			Flags:     []string{"force"},
			Positions: to,
			Needs:     []string{cmdlet.PathName},
		}),
	}
}
