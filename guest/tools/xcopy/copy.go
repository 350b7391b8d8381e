package xcopy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
)

// copy copies a file's data and time, and with /K that it may only be read.
func (j *job) copy(info fs.FileInfo, from, to string, there bool) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if there && j.readOnly {
		if err := os.Chmod(to, 0o666); err != nil {
			return err
		}
	}

	if _, err := filecopy.Onto(from, to, 0o666); err != nil {
		return err
	}
	if err := os.Chtimes(to, time.Time{}, info.ModTime()); err != nil {
		return err
	}
	if j.keep {
		return os.Chmod(to, info.Mode().Perm())
	}
	return nil
}

// here returns the name of a folder, of which the current one may have none.
func here(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// within reports whether a folder is, or is below, another.
func within(dir, below string) bool {
	a, err := filepath.Abs(here(dir))
	if err != nil {
		return false
	}
	b, err := filepath.Abs(below)
	if err != nil {
		return false
	}
	end := string(filepath.Separator)
	return strings.HasPrefix(strings.ToLower(b+end), strings.ToLower(strings.TrimSuffix(a, end)+end))
}

// isExcluded reports whether the path of a file has a text of /EXCLUDE in it.
func (j *job) isExcluded(path string) bool {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for _, text := range j.excluded {
		if strings.Contains(strings.ToLower(path), text) {
			return true
		}
	}
	return false
}
