package xcopy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
)

// copy copies a file's data and time, and with /K that it may only be read. old is what is in its place, or nil: a file
// that may only be read is replaced with /R alone.
func (j *job) copy(info fs.FileInfo, from, to string, old fs.FileInfo) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if old != nil && old.Mode().Perm()&0o200 == 0 {
		if !j.readOnly {
			return fs.ErrPermission
		}
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

// look returns what is in a folder, and of a link what it leads to: a volume of a ConfigMap has its files by a link to
// their folder. What is gone meanwhile, and a link that leads nowhere, is left out.
func look(dir string) ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(here(dir))
	if err != nil {
		return nil, err
	}

	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && e.Type()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
			info, err = os.Stat(dir + e.Name())
		}
		if err == nil {
			all = append(all, info)
		}
	}

	return all, nil
}

// whole returns a path from its drive on.
func whole(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// isSame reports whether a name is one of a file: what is written to the file would be lost before it is read.
func isSame(name string, file fs.FileInfo) bool {
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, file)
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
	path = strings.ToLower(whole(path))
	for _, text := range j.excluded {
		if strings.Contains(path, text) {
			return true
		}
	}
	return false
}
