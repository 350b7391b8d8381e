package hcs

import (
	"encoding/binary"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"mullion.dev/mullion/internal/windows/wine"
)

// Links are reparse points in the transport form ([MS-FSCC] 2.1.2.4 and 2.1.2.5,
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/b41f1cbf-10df-4a47-98d4-1c52a833d913) and links of
// Linux in a layer. What programs of a container make is relative, or leads to C: (wine.LinkOnC); a slash at the end
// says that it leads to a folder.
const (
	attributeReparse = 0x400

	tagMountPoint = 0xa0000003
	tagSymlink    = 0xa000000c
	relativeLink  = 1        // SYMLINK_FLAG_RELATIVE
	maxReparse    = 16 << 10 // MAXIMUM_REPARSE_DATA_BUFFER_SIZE
	longestLink   = 4095     // bytes that a link of Linux has room for (PATH_MAX and an end)
	mostLinks     = 64 << 20 // bytes of the links of a layer, with their names
)

// target is where a link leads to: a path of Windows, from its folder or from C:.
type target struct {
	path     string // with back slashes; `C:\…` unless relative
	relative bool
}

// targetOf returns where a link of Linux leads to, and whether it says that it leads to a folder.
func targetOf(text string) (t target, folder bool, err error) {
	folder = strings.HasSuffix(text, "/")
	onC, isAbsolute := wine.LinkOnC(text)
	if isAbsolute {
		text = onC
	}
	rest := text
	for strings.HasPrefix(rest, "../") {
		rest = rest[len("../"):]
	}
	if !isAbsolute && (strings.HasPrefix(text, "/") || strings.HasPrefix(rest, "dosdevices/")) { // another drive
		return target{}, false, refuse(NotSupported, "the link to %q does not lead to C:", text)
	}

	for part := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			continue
		}
		if err := checkName(part); err != nil {
			return target{}, false, err
		}
	}

	text = strings.ReplaceAll(strings.TrimSuffix(text, "/"), "/", `\`)
	if !isAbsolute {
		return target{path: text, relative: true}, folder, nil
	}
	if text == "" {
		text = `\`
	}
	return target{path: "C:" + text}, folder, nil
}

// encode returns the reparse point.
func (t target) encode() []byte {
	print, flags := utf16.Encode([]rune(t.path)), uint32(relativeLink)
	name := print
	if !t.relative {
		name, flags = utf16.Encode([]rune(`\??\`+t.path)), 0
	}

	var data []byte
	for _, n := range []int{0, 2 * len(name), 2 * len(name), 2 * len(print)} { // offset and length of each name
		data = binary.LittleEndian.AppendUint16(data, uint16(n))
	}
	data = binary.LittleEndian.AppendUint32(data, flags)
	for _, unit := range append(name, print...) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}

	point := binary.LittleEndian.AppendUint32(nil, tagSymlink)
	point = binary.LittleEndian.AppendUint32(point, uint32(len(data))) // 16 bits, and 16 that are reserved
	return append(point, data...)
}

// parseReparse reads a reparse point: a symbolic link or a junction.
func parseReparse(point []byte) (target, error) {
	const head, names = 8, 8 // bytes of the head, and of where the names are
	bad := refuse(InvalidArg, "a reparse point of %d bytes is not right", len(point))
	if len(point) < head+names {
		return target{}, bad
	}
	tag, data := binary.LittleEndian.Uint32(point), point[head:]
	if int(binary.LittleEndian.Uint16(point[4:])) != len(data) {
		return target{}, bad
	}

	begin, length := int(binary.LittleEndian.Uint16(data)), int(binary.LittleEndian.Uint16(data[2:]))
	relative, rest := false, data[names:]
	switch {
	case tag == tagMountPoint:
	case tag != tagSymlink:
		return target{}, refuse(NotSupported, "reparse points with the tag 0x%x are not supported", tag)
	case len(rest) < 4:
		return target{}, bad
	default:
		relative, rest = binary.LittleEndian.Uint32(rest)&relativeLink != 0, rest[4:]
	}

	text, ok := nameIn(rest, begin, length)
	if !ok {
		return target{}, bad
	}
	if !relative && !onSystemDrive(text) {
		return target{}, refuse(NotSupported, "the link to %q does not lead to C:", text)
	}
	return target{path: text, relative: relative}, nil
}

// nameIn reads a name of a reparse point, in UTF-16, without the prefixes of full paths. ok is false if it is not
// there.
func nameIn(names []byte, begin, length int) (name string, ok bool) {
	if begin+length > len(names) || begin%2 != 0 || length%2 != 0 || length == 0 {
		return "", false
	}

	units := make([]uint16, length/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(names[begin+2*i:])
	}
	name = string(utf16.Decode(units))
	for _, prefix := range []string{`\??\`, `\\?\`} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name, true
}

// onSystemDrive reports whether a path of Windows is on C:.
func onSystemDrive(path string) bool {
	return len(path) >= 2 && strings.EqualFold(path[:2], "c:") && (len(path) == 2 || path[2] == '\\')
}

// parts are the names on a path of Linux, from Files, to which a link in a folder leads: it does not leave the drive.
func (t target) parts(folder string) ([]string, error) {
	text := strings.ReplaceAll(t.path, `\`, "/")
	switch {
	case !t.relative:
		text = text[2:]
	case !strings.HasPrefix(text, "/"):
		text = strings.TrimPrefix(filepath.ToSlash(folder), files) + "/" + text
	}

	text = strings.Trim(path.Clean("/"+text), "/")
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if err := checkName(part); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// link is a link of a layer that is imported.
type link struct {
	at       string
	to       target
	isFolder bool
}

// makeLinks makes the links of the layer, whose other entries are there: what they lead to is named in the letter case
// that it has.
func (im *importer) makeLinks() error {
	for _, l := range im.pending {
		parts, err := l.to.parts(filepath.Dir(l.at))
		if err != nil {
			return err
		}
		if len(parts) > deepestName {
			return refuse(InvalidName, "the link %q leads too deep", l.at)
		}

		text, err := filepath.Rel(filepath.Dir(l.at), im.spelled(parts))
		if err != nil {
			return err
		}
		if l.isFolder {
			text += "/"
		}
		if err := im.to.Symlink(text, l.at); err != nil {
			return refuse(InvalidArg, "make link of layer: %v", err)
		}
		if folder, there := im.listings[filepath.Dir(l.at)]; there {
			name := filepath.Base(l.at)
			folder[strings.ToLower(name)] = entry{name: name}
		}
	}
	return nil
}

// entry is one of a folder: its name as it is on disk, and whether it is a folder itself.
type entry struct {
	name  string
	isDir bool
}

// spelled returns a path below Files with the names that are on disk. Behind one that is no folder they are as they
// were: through a link to follow, each of many links would cost as much as there are others.
func (im *importer) spelled(parts []string) string {
	to := files
	for i, part := range parts {
		e, there := im.listing(to)[strings.ToLower(part)]
		if !there {
			return filepath.Join(to, filepath.Join(parts[i:]...))
		}
		to = filepath.Join(to, e.name)
		if !e.isDir {
			return filepath.Join(to, filepath.Join(parts[i+1:]...))
		}
	}
	return to
}

// listing returns the entries of a folder of this layer, of those below and of Wine's C:, by their lower case. Each
// folder is read once.
func (im *importer) listing(folder string) map[string]entry {
	if all, there := im.listings[folder]; there {
		return all
	}

	all := map[string]entry{}
	system := filepath.Join(".", strings.TrimPrefix(folder, files))
	for lower, e := range names(im.system, system) {
		all[lower] = entry{e.Name(), e.IsDir()}
	}
	for lower, o := range im.below.merged(folder) {
		all[lower] = entry{o.name, o.isDir}
	}
	for lower, e := range names(im.to, folder) {
		all[lower] = entry{e.Name(), e.IsDir()}
	}

	im.listings[folder] = all
	return all
}

// link exports a link of Linux.
func (ex *exporter) link(at string, info fs.FileInfo) error {
	text, err := ex.from.Readlink(at)
	if err != nil {
		return refuse(InvalidArg, "read link %q of layer: %v", at, err)
	}
	to, folder, err := targetOf(text)
	if err != nil {
		return err
	}

	attributes, name := uint32(attributeReparse|attributeArchive), at
	if followed, err := ex.from.Stat(at); folder || (err == nil && followed.IsDir()) {
		attributes, name = attributeReparse|attributeFolder, at+folderSuffix
		if err := ex.to.MkdirAll(at, 0o755); err != nil {
			return refuse(InvalidArg, "make folder of exported layer: %v", err)
		}
	}
	return ex.writeLink(name, info.ModTime(), attributes, to)
}
