package shell

import (
	"strings"

	"mullion.dev/mullion/guest/cmdexe/disk"
)

// isBatch reports whether a file is one of commands.
func isBatch(file string) bool {
	file = strings.ToLower(file)
	return strings.HasSuffix(file, ".bat") || strings.HasSuffix(file, ".cmd")
}

// endings returns what a program's name may lack.
func (s *Shell) endings() []string {
	list, ok := s.env.get("PATHEXT")
	if !ok {
		list = ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC"
	}
	return strings.Split(list, ";")
}

// find finds the file of a program: where its name says, or in the current folder and in those of PATH.
func (s *Shell) find(name string) (string, error) {
	name = strings.ReplaceAll(name, "/", `\`)
	if name == "" || strings.Trim(name, `.\`) == "" || strings.ContainsAny(name, "*?<>|\x00") {
		return "", disk.FileNotFound
	}

	if strings.ContainsAny(name, `\:`) {
		path := s.full(name)
		if file := s.program1(path); file != "" {
			return file, nil
		}
		if folder, _ := disk.Split(path); !s.o.Disk.IsFolder(folder) {
			return "", disk.PathNotFound
		}
		return "", disk.FileNotFound
	}

	path, _ := s.env.get("PATH")
	for _, folder := range append([]string{s.dir}, strings.Split(path, ";")...) {
		folder = strings.TrimSpace(unquoted(folder))
		if folder == "" {
			continue
		}
		if file := s.program1(disk.Full(name, s.full(folder), s.driveDir)); file != "" {
			return file, nil
		}
	}

	return "", disk.FileNotFound
}

// program1 returns the file that a path means, with the ending that it may lack; empty if there is none.
func (s *Shell) program1(path string) string {
	_, name := disk.Split(path)
	if strings.Contains(name, ".") && s.isFile(path) {
		return path
	}
	if !s.o.Disk.Begins(path) {
		return ""
	}
	for _, ending := range s.endings() {
		if ending = strings.TrimSpace(ending); ending != "" && s.isFile(path+ending) {
			return path + ending
		}
	}
	return ""
}

func (s *Shell) isFile(path string) bool {
	info, err := s.o.Disk.Stat(path)
	return err == nil && !info.Folder() && (info.Attributes&disk.Link == 0 || !s.o.Disk.IsFolder(path))
}
