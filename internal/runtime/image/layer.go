package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/windows/pefile"
)

// errWindowsInside says that a layer holds Windows itself although it is not marked as a base layer.
var errWindowsInside = errors.New("layer holds Windows itself")

// Win32 file attributes (https://learn.microsoft.com/windows/win32/fileio/file-attribute-constants).
const (
	attrReadOnly = 0x1
	attrHidden   = 0x2
	attrSystem   = 0x4
)

// The PAX records of a Windows layer
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#windows-attributes names none;
// https://github.com/microsoft/go-winio/blob/v0.6.2/backuptar/tar.go writes them).
const (
	paxFileAttr = "MSWINDOWS.fileattr"
	// paxDOSAttrib is where Wine keeps the hidden and system attributes, as Samba does
	// (https://gitlab.winehq.org/wine/wine/-/blob/wine-8.0/dlls/ntdll/unix/file.c, SAMBA_XATTR_DOS_ATTRIB).
	paxDOSAttrib = "SCHILY.xattr.user.DOSATTRIB"
)

// layerFilter turns the entries of a Windows layer into what Linux and Wine need. Windows keeps access rights in
// security descriptors, which a layer carries in PAX records and its tar modes do not (they are 0), so owners and modes
// are made here after Windows' defaults:
//
//   - C:\ and folders below it: everyone may create in them, nobody but the owner and ContainerAdministrator may change
//     what another made (BUILTIN\Users has "append data" and "create files" there): mode 1777;
//   - C:\Windows, C:\Program Files, C:\Users itself: only ContainerAdministrator writes: 0755; C:\Windows\Temp is open;
//   - C:\Users\ContainerUser belongs to ContainerUser.
type layerFilter struct {
	names *names
	owner int
	// windows: the layer holds Windows itself (a base image whose history was lost, or a squashed image): only what
	// lies outside the Windows folder is taken.
	windows bool
	room    *budget // nil: there is no end of it
}

// entry judges and rewrites one tar header; it is an archive.Filter.
func (f *layerFilter) entry(hdr *tar.Header) (bool, error) {
	if err := f.fits(hdr); err != nil {
		return false, err
	}

	name := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(hdr.Name, `\`, "/")), "/")
	top, rest, _ := strings.Cut(name, "/")
	switch {
	case name == "" || name == "." || hdr.Typeflag == tar.TypeXGlobalHeader:
		return false, nil
	case strings.EqualFold(top, "UtilityVM"): // the virtual machine of Hyper-V isolation
		return false, nil
	case strings.EqualFold(top, "Hives"):
		return f.hive(hdr, rest), nil
	case !strings.EqualFold(top, "Files"):
		return false, fmt.Errorf("entry %q lies outside Files and Hives, this is not a Windows layer: %w", hdr.Name,
			errdefs.ErrInvalidArgument)
	}

	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink:
	default:
		return false, nil
	}

	win := strings.ToLower(rest)
	if hdr.Typeflag == tar.TypeReg && win == "windows/system32/ntdll.dll" && !f.windows {
		return false, errWindowsInside
	}
	if !f.wanted(win) {
		return false, nil
	}

	if err := f.rename(hdr, rest); err != nil {
		return false, err
	}
	f.access(hdr, win)
	return true, f.folders(path.Dir(hdr.Name))
}

// fits takes what an entry needs from what there is.
func (f *layerFilter) fits(hdr *tar.Header) error {
	if f.room != nil {
		if err := f.room.file(hdr); err != nil {
			return err
		}
	}
	if err := checkName(hdr); err != nil {
		return err
	}
	return f.names.keep(len(hdr.Name)) // who unpacks it keeps the name
}

// folders makes a folder and its parents unless the layer being written has them: not every layer lists its folders.
func (f *layerFilter) folders(dir string) error {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		hdr := &tar.Header{Typeflag: tar.TypeDir}
		f.access(hdr, strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(at, "Files"), "/")))
		if err := f.names.mkdir(at, hdr); err != nil {
			return fmt.Errorf("make folder %q: %w", at, err)
		}
	}
	return nil
}

// hive keeps the registry changes of a layer beside the drive; package engine gives them to containers.
func (f *layerFilter) hive(hdr *tar.Header, rest string) bool {
	if f.windows || strings.Contains(rest, "/") || (hdr.Typeflag != tar.TypeReg && hdr.Typeflag != tar.TypeDir) {
		return false
	}

	hdr.Name = path.Join("Hives", rest)
	hdr.Uid = f.owner
	hdr.Gid = f.owner
	hdr.Uname = ""
	hdr.Gname = ""
	hdr.PAXRecords = nil
	hdr.Mode = 0o644
	if hdr.Typeflag == tar.TypeDir {
		hdr.Mode = 0o755
	}

	return true
}

// wanted reports whether an entry (lower case, relative to the drive) comes from the image; otherwise Wine's
// own is used.
func (f *layerFilter) wanted(win string) bool {
	inWindows := win == "windows" || strings.HasPrefix(win, "windows/")
	if f.windows && inWindows {
		return false
	}
	dir, base := path.Split(win)
	target := strings.TrimPrefix(base, imagebuild.Whiteout)
	if !inWindows || base == imagebuild.OpaqueWhiteout {
		return base != imagebuild.OpaqueWhiteout || !inWindows
	}
	return pefile.Redistributable(target) || !f.names.systemFile(dir+target)
}

// rename gives the entry's path the letter case that it has in the layers below, and turns link targets into Linux
// ones.
func (f *layerFilter) rename(hdr *tar.Header, rest string) error {
	if rest == "" && hdr.Typeflag != tar.TypeDir {
		return fmt.Errorf("entry %q, the drive, is not a folder: %w", hdr.Name, errdefs.ErrInvalidArgument)
	}
	dir, base := path.Split(rest)
	prefix := ""
	if base != imagebuild.OpaqueWhiteout && strings.HasPrefix(base, imagebuild.Whiteout) {
		prefix, base = imagebuild.Whiteout, strings.TrimPrefix(base, imagebuild.Whiteout)
	}

	whole, err := f.names.resolve(path.Join(dir, base), prefix == "" && base != imagebuild.OpaqueWhiteout)
	if err != nil {
		return err
	}

	folder, base := path.Split(whole)
	hdr.Name = path.Join("Files", folder, prefix+base)
	switch hdr.Typeflag {
	case tar.TypeLink:
		old := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(hdr.Linkname, `\`, "/")), "/")
		top, target, _ := strings.Cut(old, "/")
		if !strings.EqualFold(top, "Files") {
			return fmt.Errorf("hard link %q to %q leaves the drive: %w", hdr.Name, hdr.Linkname,
				errdefs.ErrInvalidArgument)
		}
		if target, err = f.names.resolve(target, false); err != nil {
			return err
		}

		hdr.Linkname = path.Join("Files", target)

	case tar.TypeSymlink:
		hdr.Linkname, err = f.linkTarget(folder, hdr.Linkname)
	}

	return err
}

// linkTarget turns the target of a link in folder (relative to the drive) into a relative Linux path that stays on the
// drive. Targets on other volumes become a name that does not exist, so that opening the link says "not found".
func (f *layerFilter) linkTarget(folder, target string) (string, error) {
	t := strings.ReplaceAll(target, `\`, "/")
	for _, p := range []string{"//?/", "/??/"} {
		t = strings.TrimPrefix(t, p)
	}

	absolute := path.Join("/", folder, t)
	switch {
	case len(t) >= 2 && t[1] == ':':
		if !strings.EqualFold(t[:1], "c") {
			return ".mullion-other-volume", nil
		}
		absolute = path.Clean("/" + t[2:])
	case strings.HasPrefix(strings.ToLower(t), "volume{"):
		return ".mullion-other-volume", nil
	case strings.HasPrefix(t, "/"):
		absolute = path.Clean(t)
	}

	resolved, err := f.names.resolve(strings.TrimPrefix(absolute, "/"), false)
	if err != nil {
		return "", err
	}
	return relative(strings.Trim(folder, "/"), resolved), nil
}

// relative is target seen from folder; both are clean and relative to the drive.
func relative(folder, target string) string {
	var from, to []string
	if folder != "" {
		from = strings.Split(folder, "/")
	}
	if target != "" {
		to = strings.Split(target, "/")
	}

	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}

	parts := make([]string, 0, len(from)+len(to))
	for range from[same:] {
		parts = append(parts, "..")
	}

	if parts = append(parts, to[same:]...); len(parts) == 0 {
		return "."
	}

	return strings.Join(parts, "/")
}

// access sets owner, mode and attributes of an entry with path win (lower case, relative to the drive).
func (f *layerFilter) access(hdr *tar.Header, win string) {
	attr, _ := strconv.ParseUint(hdr.PAXRecords[paxFileAttr], 10, 32) // absent: no attributes
	hdr.PAXRecords = nil
	hdr.Uname = ""
	hdr.Gname = ""
	hdr.Uid, hdr.Gid = f.owner, f.owner
	if under(win, "users/containeruser") {
		hdr.Uid, hdr.Gid = f.owner+ContainerUserID, f.owner+ContainerUserID
	}

	closed := (under(win, "windows") && !under(win, "windows/temp")) || under(win, "program files") ||
		under(win, "program files (x86)") || win == "users" || under(win, "users/containeruser") ||
		under(win, "users/containeradministrator")
	switch {
	case hdr.Typeflag == tar.TypeDir && !closed:
		hdr.Mode = 0o1777
	case hdr.Typeflag == tar.TypeReg && attr&attrReadOnly != 0:
		hdr.Mode = 0o555
	default:
		hdr.Mode = 0o755
	}

	if hidden := attr & (attrHidden | attrSystem); hidden != 0 &&
		(hdr.Typeflag == tar.TypeReg || hdr.Typeflag == tar.TypeDir) {
		hdr.PAXRecords = map[string]string{paxDOSAttrib: fmt.Sprintf("0x%x", hidden)}
	}
}

// under reports whether p is dir or lies in it.
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
