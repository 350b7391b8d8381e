package shell

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/wild"
)

// changeDrive is X: alone.
func (s *Shell) changeDrive(drive byte) (int32, flow) {
	dir := s.driveDir(drive)
	if !s.o.Disk.IsFolder(dir) {
		dir = strings.ToUpper(string([]byte{drive})) + `:\`
	}
	if !s.o.Disk.IsFolder(dir) {
		s.say("The system cannot find the drive specified.")
		s.code = 1
		return 1, next
	}
	s.setDir(dir)
	return 0, next
}

// changeDir carries out CD. Blanks belong to the name of a folder.
func (s *Shell) changeDir(args string) int32 {
	name, other := folderName(args)
	switch {
	case name == "":
		s.print("%s\r\n", s.dir)
		return 0
	case len(name) == 2 && name[1] == ':' && !other:
		s.print("%s\r\n", s.driveDir(name[0]))
		return 0
	}

	dir, code := s.folder(name)
	if code != 0 {
		return code
	}
	if len(dir) > 1 && dir[1] == ':' && !other && len(s.dir) > 1 && !strings.EqualFold(dir[:1], s.dir[:1]) {
		s.env.set("="+strings.ToUpper(dir[:2]), dir) // the other drive's folder
		return 0
	}

	if strings.HasPrefix(dir, `\\`) {
		s.say("'" + dir + "'\r\nCMD does not support UNC paths as current directories.")
		return 1
	}
	s.setDir(dir)
	return 0
}

// folderName returns the folder that CD names; other says that another drive may become the current one.
func folderName(args string) (name string, other bool) {
	name = strings.Trim(args, delimiters)
	if len(name) >= 2 && strings.EqualFold(name[:2], "/d") && (len(name) == 2 || delimiter(name[2]) || name[2] == '"') {
		other = true
		name = strings.Trim(name[2:], delimiters)
	}
	return strings.TrimRight(unquoted(name), " \t"), other
}

// folder returns the folder that a name means, with wild cards the first that matches.
func (s *Shell) folder(name string) (string, int32) {
	path := s.full(name)
	if wild.Has(path) {
		folder, last := disk.Split(path)
		entries, _ := s.o.Disk.List(folder) // none, then
		for _, e := range entries {
			if e.Folder() && wild.Match(last, e.Name) {
				path = folder + e.Name
				break
			}
		}
	}
	if !s.o.Disk.IsFolder(path) {
		if info, err := s.o.Disk.Stat(path); err == nil && !info.Folder() {
			s.say("The directory name is invalid.")
		} else {
			s.say("The system cannot find the path specified.")
		}
		return "", 1
	}

	return s.spelledWhole(path), 0
}

// spelledWhole returns a path with each name spelled as its folder has it.
func (s *Shell) spelledWhole(path string) string {
	drive := disk.Volume(path)
	at := strings.ToUpper(drive)
	if strings.HasPrefix(drive, `\\`) {
		at = drive
	}

	for name := range strings.SplitSeq(strings.Trim(path[len(drive):], `\`), `\`) {
		if name != "" {
			at = s.spelled(at + `\` + name)
		}
	}
	if at == strings.ToUpper(drive) || at == drive {
		at += `\`
	}

	return at
}

// pushDir carries out PUSHD. A share has no drive letter here: its own name becomes the current folder.
func (s *Shell) pushDir(args string) int32 {
	name := strings.TrimRight(unquoted(strings.Trim(args, delimiters)), " \t")
	if name == "" {
		for _, dir := range slices.Backward(s.stack) {
			s.print("%s\r\n", dir)
		}
		return 0
	}

	dir, code := s.folder(name)
	if code != 0 {
		return code
	}
	s.stack = append(s.stack, s.dir)
	s.setDir(dir)
	return 0
}

// popDir carries out POPD.
func (s *Shell) popDir(string) int32 {
	if len(s.stack) == 0 {
		return 1
	}
	dir := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	if !s.o.Disk.IsFolder(dir) {
		s.say("The system cannot find the path specified.")
		return 1
	}
	s.setDir(dir)
	return 0
}

// path carries out PATH.
func (s *Shell) path(args string) int32 {
	value := strings.TrimLeft(args, " \t=")
	switch strings.TrimSpace(value) {
	case "":
		if now, ok := s.env.get("PATH"); ok {
			s.print("PATH=%s\r\n", now)
		} else {
			s.print("No Path\r\n")
		}

	case ";":
		s.env.set("PATH", "")
	default:
		s.env.set("PATH", value)
	}

	return 0
}
