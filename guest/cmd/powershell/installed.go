package main

import (
	"os"
	"path/filepath"
	"strings"
)

// insteadOf is the variable with the file that runs in place of Mullion's pwsh.exe. That may be a copy of it.
const insteadOf = "MULLION_PWSH"

// installed returns the pwsh.exe that an image or a person put onto the drive, which runs in place of Mullion's own: on
// the PATH, or in the folders of Microsoft's installer (PowerShell\7) and of its images (PowerShell). It is empty if
// self, the file that runs, is not pwsh.exe, or is the only one.
func installed(self string, variable func(string) string) string {
	const name = "pwsh.exe"
	mine, err := os.Stat(self)
	if err != nil || !strings.EqualFold(filepath.Base(self), name) || strings.EqualFold(variable(insteadOf), self) {
		return ""
	}
	folders := filepath.SplitList(variable("PATH"))
	if programs := variable("ProgramFiles"); programs != "" {
		folders = append(folders, filepath.Join(programs, "PowerShell", "7"), filepath.Join(programs, "PowerShell"))
	}

	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		file := filepath.Join(folder, name)
		if other, err := os.Stat(file); err == nil && other.Mode().IsRegular() && !os.SameFile(mine, other) &&
			!strings.EqualFold(filepath.Dir(file), filepath.Dir(self)) {
			return file
		}
	}

	return ""
}

// afterProgram returns a command line without its first word, as CommandLineToArgvW takes them apart.
func afterProgram(line string) string {
	if rest, ok := strings.CutPrefix(line, `"`); ok {
		_, after, _ := strings.Cut(rest, `"`)
		return after
	}
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[i:]
	}
	return ""
}
