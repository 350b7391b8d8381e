package disk

import "strings"

// Full returns the whole name of a file that is named from a folder on. drives has the folder of each other drive.
func Full(name, folder string, drives func(drive byte) string) string {
	name = strings.ReplaceAll(name, "/", `\`)
	switch {
	case strings.HasPrefix(name, `\\`):
		return clean(name)
	case len(name) >= 2 && name[1] == ':' && letter(name[0]):
		if len(name) > 2 && name[2] == '\\' {
			return clean(name)
		}
		if len(folder) > 1 && strings.EqualFold(folder[:2], name[:2]) {
			return clean(folder + `\` + name[2:])
		}
		return clean(drives(name[0]) + `\` + name[2:])

	case strings.HasPrefix(name, `\`):
		return clean(volume(folder) + name)
	}

	return clean(folder + `\` + name)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// volume returns the drive of a path, or its server and share.
func volume(path string) string {
	if !strings.HasPrefix(path, `\\`) {
		if len(path) >= 2 && path[1] == ':' {
			return path[:2]
		}
		return ""
	}

	rest := path[2:]
	server := strings.IndexByte(rest, '\\')
	if server < 0 {
		return path
	}
	if share := strings.IndexByte(rest[server+1:], '\\'); share >= 0 {
		return path[:2+server+1+share]
	}

	return path
}

// Volume returns the drive of a whole name, or its server and share.
func Volume(path string) string { return volume(path) }

// clean takes . and .. out of a whole name, dots and blanks off the ends of its parts, and names devices by themselves.
func clean(path string) string {
	if strings.HasPrefix(path, `\\?\`) || strings.HasPrefix(path, `\\.\`) {
		return path
	}

	drive := volume(path)
	var parts []string
	names := strings.Split(path[len(drive):], `\`)
	for i, name := range names {
		switch trimmed := strings.TrimRight(name, ". "); {
		case name == "" || name == ".":
		case name == "..":
			parts = parts[:max(0, len(parts)-1)]
		case trimmed == "": // dots and blanks alone
		case i == len(names)-1 && device(trimmed):
			return `\\.\` + strings.ToUpper(strings.TrimSuffix(trimmed, ":"))
		default:
			parts = append(parts, trimmed)
		}
	}

	if len(parts) == 0 {
		return drive + `\`
	}

	return drive + `\` + strings.Join(parts, `\`)
}

// device reports whether a name is one of a device, which there is in every folder.
func device(name string) bool {
	switch strings.ToLower(strings.TrimSuffix(name, ":")) {
	case "nul", "con", "conin$", "conout$", "prn", "aux":
		return true
	}
	return false
}

// Device returns the short name of a device, "NUL" or "CON"; empty for a file.
func Device(path string) string {
	name, ok := strings.CutPrefix(path, `\\.\`)
	if !ok || !device(name) {
		return ""
	}
	return name
}

// Split takes a whole name apart: its folder, with a backslash at the end, and its last part.
func Split(path string) (folder, name string) {
	at := strings.LastIndexByte(path, '\\')
	return path[:at+1], path[at+1:]
}
