package session

import (
	"path/filepath"
	"slices"
	"strings"
)

// Drive is a drive that a script has made, by New-PSDrive.
type Drive struct {
	Name        string
	Provider    string // FileSystem or Registry
	Root        string // a folder, or a path of the registry
	Description string
}

// drives are the drives that a session's script has made.
type drives struct{ made []Drive }

// Drives returns the drives that the script has made, the oldest first.
func (s *State) Drives() []Drive { return slices.Clone(Keep[drives](s).made) }

// MakeDrive adds a drive.
func (s *State) MakeDrive(d Drive) {
	all := Keep[drives](s)
	all.made = append(all.made, d)
}

// RemoveDrive takes a drive away that the script has made, and reports whether there was one of that name.
func (s *State) RemoveDrive(name string) bool {
	all := Keep[drives](s)
	before := len(all.made)
	all.made = slices.DeleteFunc(all.made, func(d Drive) bool { return strings.EqualFold(d.Name, name) })
	return len(all.made) < before
}

// OnDrive returns a path without what only PowerShell knows: of a drive that the script has made the path below its
// root, for ~ that below the person's folder, and without the name of the provider of files
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_providers). Another path
// stays.
func (s *State) OnDrive(path string) string {
	const files = "filesystem::"
	lower := strings.ToLower(path)
	if i := strings.Index(lower, files); i == 0 || (i > 0 && lower[:i] == `microsoft.powershell.core\`) {
		return path[i+len(files):]
	}

	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		if home := s.Home(); home != "" {
			return home + path[1:]
		}
		return path
	}

	name, rest, found := strings.Cut(path, ":")
	if !found || strings.HasPrefix(rest, ":") {
		return path
	}
	for _, d := range Keep[drives](s).made {
		if !strings.EqualFold(d.Name, name) {
			continue
		}
		rest = strings.TrimLeft(rest, `/\`)
		root := strings.TrimRight(d.Root, `/\`)
		switch {
		case d.Provider != "FileSystem":
			return d.Provider + "::" + strings.TrimRight(root+`\`+rest, `\`)
		case rest == "":
			return d.Root
		}
		return root + s.Separator() + rest
	}

	return path
}

// Home is the folder of the person, "" if nobody says which that is: $HOME.
func (s *State) Home() string {
	if home := s.Env["USERPROFILE"]; home != "" || s.Windows() {
		return home
	}
	return s.Env["HOME"]
}

// Location is where the session is: its folder, or a path of another drive, such as HKLM:\SOFTWARE.
func (s *State) Location() string {
	if s.Elsewhere != "" {
		return s.Elsewhere
	}
	return s.Dir
}

// Placed returns a path as a cmdlet for items means it: as OnDrive has it, and below a location that is no folder.
func (s *State) Placed(path string) string {
	if whole := s.OnDrive(path); whole != path {
		return whole
	}
	if s.Elsewhere == "" || path == "" || strings.Contains(path, ":") || strings.HasPrefix(path, `\\`) {
		return path
	}

	end := strings.LastIndexByte(s.Elsewhere, ':') + 1
	drive, rest := s.Elsewhere[:end], s.Elsewhere[end:]
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`) {
		rest = ""
	}
	var parts []string
	for part := range strings.FieldsFuncSeq(rest+`\`+path, isSlash) {
		switch {
		case part == ".":
		case part != "..":
			parts = append(parts, part)
		case len(parts) > 0:
			parts = parts[:len(parts)-1]
		}
	}
	if !strings.HasSuffix(drive, "::") {
		drive += `\`
	}
	return drive + strings.Join(parts, `\`)
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// volume returns a path of a drive of Windows whole where it begins with the drive and no more: c: and c:x are relative
// to the drive's current folder.
func (s *State) volume(p string) string {
	drive := filepath.VolumeName(p)
	rest := p[len(drive):]
	if drive != "" && !strings.EqualFold(drive, filepath.VolumeName(s.Dir)) {
		return filepath.Join(drive+string(filepath.Separator), rest)
	}
	return filepath.Join(s.Dir, rest)
}
