package wine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// What keeps a path from being resolved: it would end outside its drive, or outside the volume that it begins in.
var (
	ErrLeavesDrive  = errors.New("path leaves the drive")
	ErrLeavesVolume = errors.New("path leaves the volume")
)

// maxLinks bounds the symbolic links followed in one path, as Linux does (ELOOP at 40).
const maxLinks = 40

// splitWindows returns the components below C:\, with . and .. removed as Windows removes them: by text, before links.
func splitWindows(p string) ([]string, error) {
	if strings.ContainsRune(p, 0) {
		return nil, errors.New("holds a NUL character")
	}

	p = strings.ReplaceAll(p, "/", `\`)
	verbatim := strings.HasPrefix(p, `\\?\`)
	p = strings.TrimPrefix(p, `\\?\`)
	if strings.HasPrefix(p, `\\`) {
		return nil, errors.New("is a network or device path; only drive C: has files")
	}

	if len(p) >= 2 && p[1] == ':' {
		if p[0] != 'c' && p[0] != 'C' {
			return nil, fmt.Errorf("there is no drive %s", p[:2])
		}
		p = p[2:]
	}

	var parts []string
	for c := range strings.SplitSeq(p, `\`) {
		switch {
		case c == "" || c == ".":
			continue
		case c == "..":
			if len(parts) == 0 {
				return nil, ErrLeavesDrive
			}
			parts = parts[:len(parts)-1]
			continue

		case strings.ContainsAny(c, `:*?"<>|`):
			return nil, fmt.Errorf("component %q has a character that file names do not have", c)
		}

		if !verbatim {
			// Win32 ignores dots and spaces at the end of a component.
			if c = strings.TrimRight(c, ". "); c == "" {
				continue
			}
		}
		parts = append(parts, c)
	}

	return parts, nil
}

// A bound is a folder of a drive that paths must not leave: the drive itself, or a volume in it.
type bound struct {
	// drive is the folder of the drive on the machine; no part of it is a link.
	drive string
	// parts lead from the drive to the folder, as they are on disk; asked are the same as somebody wrote them, perhaps
	// over links.
	parts, asked []string
	// mounted is what links may lead to beside the drive.
	mounted Mounted
}

// Mounted are the folders of the machine in which other file systems are mounted for a host, where links of its drive
// may lead. Empty: they are not followed.
type Mounted struct {
	// Shares has the SMB shares that the host has mapped, \\server\share at server/share.
	Shares string
	// Volumes has the volumes of the host's data disks, \\?\Volume{GUID}\ at GUID.
	Volumes string
}

// find says where the name of a device, and what follows it, leads: parts below a root, or no root.
func (m Mounted) find(device string) (parts []string, root string) {
	if below, ok := strings.CutPrefix(device, shares+"/"); ok && m.Shares != "" {
		return strings.Split(below, "/"), m.Shares
	}
	below, ok := strings.CutPrefix(device, volumes)
	guid, rest, _ := strings.Cut(below, "}")
	if id, err := uuid.Parse(guid); ok && err == nil && m.Volumes != "" && (rest == "" || rest[0] == '/') {
		return strings.FieldsFunc(rest, func(c rune) bool { return c == '/' }), path.Join(m.Volumes, id.String())
	}
	return nil, ""
}

// errLeaves returns the error for a path that leaves the folder.
func (b bound) errLeaves() error {
	if len(b.parts) == 0 {
		return ErrLeavesDrive
	}
	return ErrLeavesVolume
}

// shares is where, beneath a prefix's dosdevices, SMB shares are mounted.
const shares = "unc"

// volumes is how the names of volumes begin there.
const volumes = "volume{"

// SystemVolume is the name of the volume of C:, without a backslash at its end, that Wine's mount manager answers with:
// a GUID whose last byte is the drive's letter (create_volume in dlls/mountmgr.sys/device.c of Wine 8.0 and 10.0).
const SystemVolume = `\\?\Volume{00000000-0000-0000-0000-000000000043}`

// OnDrive returns a path of Windows that begins with the name of C:'s volume as one that begins with the drive, and any
// other as it is.
func OnDrive(winPath string) string {
	if n := len(SystemVolume); len(winPath) > n && winPath[n] == '\\' && strings.EqualFold(winPath[:n], SystemVolume) {
		return `C:` + winPath[n:]
	}
	return winPath
}

// VolumeDevice returns the name, in a prefix's dosdevices, of the volume of a partition's GUID: Wine finds
// \\?\Volume{GUID}\ there.
func VolumeDevice(guid string) string { return volumes + guid + "}" }

// follow says where a link in a folder leads, as Windows does: the link's text is put after the folder's path, .. goes
// up by text, whatever the names before it are, and the result is to be resolved from the start. dir are the parts that
// lead from the bound to the folder, without a link among them; so are those that it returns, which may be links. With
// a root they lead from that folder, of the shares or of a volume.
//
// Windows programs' links are kept as texts for Linux: the text of one to C:\x is "../../dosdevices/c:/x", with as many
// .. as lead up to the prefix (guest/c/hooks/README.md, "Links on disk").
func (b bound) follow(dir []string, text string) (parts []string, root string, err error) {
	if strings.Contains(text, `\`) {
		// A name for Linux and a path for Windows.
		return nil, "", fmt.Errorf("symbolic link to %q: the text has a back slash", text)
	}
	target := path.Clean(text)
	if !path.IsAbs(text) {
		target = path.Join(b.drive, path.Join(b.parts...), path.Join(dir...), text)
	}

	devices := path.Join(path.Dir(b.drive), "dosdevices")
	if parts, root := b.mounted.find(strings.TrimPrefix(target, devices+"/")); root != "" {
		return parts, root, nil
	}

	for _, root := range []string{b.drive, path.Join(devices, "c:")} {
		var parts []string
		if below, ok := strings.CutPrefix(target, root+"/"); ok {
			parts = strings.Split(below, "/")
		} else if target != root {
			continue
		}

		for _, start := range [][]string{b.parts, b.asked} {
			if len(parts) >= len(start) && slices.EqualFunc(start, parts[:len(start)], strings.EqualFold) {
				return parts[len(start):], "", nil
			}
		}
	}

	return nil, "", fmt.Errorf("symbolic link to %q: %w", text, b.errLeaves())
}

// volumeRoot returns how many of parts name the folder of a volume: as many as the first pattern that matches. A
// pattern is a path of names, compared without regard to case, in which * is any name.
func volumeRoot(parts, patterns []string) int {
	for _, pattern := range patterns {
		names := strings.Split(pattern, "/")
		if len(names) <= len(parts) && slices.EqualFunc(names, parts[:len(names)], func(name, part string) bool {
			return name == "*" || strings.EqualFold(name, part)
		}) {
			return len(names)
		}
	}
	return 0
}

// LinkOnC returns the path on C: that a link of Linux has, if a Windows program made it with one from the drive: it
// leads there by way of the prefix's dosdevices (guest/c/hooks/linktext.c). The path begins with a slash, or is "" for
// the drive itself, and is as the program wrote it: it may have dots. ok is false for any other link.
func LinkOnC(text string) (onC string, ok bool) {
	for strings.HasPrefix(text, "../") {
		text = text[len("../"):]
	}

	for _, drive := range []string{"dosdevices/c:", "dosdevices/./c:"} { // a symbolic link, a junction
		onC, ok = strings.CutPrefix(text, drive)
		if ok && (onC == "" || onC[0] == '/') {
			return onC, true
		}
	}
	return "", false
}
