package robocopy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// tree copies a folder, and with /S those below it.
func (j *job) tree(from, to string, level int) {
	found, err := os.ReadDir(from)
	if err != nil {
		j.dirs.total++
		j.dirs.failed++
		j.fail(err, "Accessing Source Directory", folder(from))
		return
	}

	there, err := os.Stat(to)
	fresh := err != nil
	if !fresh && !there.IsDir() {
		j.dirs.total++
		j.dirs.mismatch++
		j.code |= mismatch
		return
	}

	files, folders := j.choose(from, found)
	if !j.dir(fresh, len(files), from, to) {
		return
	}
	j.extras(to, found)
	for _, f := range files {
		j.file(f, filepath.Join(from, f.Name()), filepath.Join(to, f.Name()))
	}

	if !j.below || (j.levels != 0 && level >= j.levels) {
		return
	}

	for _, f := range folders {
		below, above := filepath.Join(from, f.Name()), filepath.Join(to, f.Name())
		if !j.empty && !j.holds(below) {
			continue
		}
		j.tree(below, above, level+1)
		if j.move == moveAll && !j.dry {
			_ = os.Remove(below) // stays if it is not empty
		}
	}
}

// dir makes a folder at the destination, if there is none, and tells of it.
func (j *job) dir(fresh bool, files int, from, to string) bool {
	j.dirs.total++
	if fresh && !j.dry {
		if err := os.MkdirAll(to, 0o777); err != nil {
			j.dirs.failed++
			j.fail(err, "Creating Destination Directory", folder(to))
			return false
		}
	}

	class := ""
	if fresh {
		j.dirs.copied++
		class = "New Dir"
	} else {
		j.dirs.skipped++
	}

	if !j.noDirs {
		j.print("%s", j.line(class, fmt.Sprint(files), folder(from), "\t  %-9s %8s\t%s"))
	}
	return true
}

// line returns a line of the report without what is not asked for.
func (j *job) line(class, size, name, format string) string {
	if j.noClass {
		class = ""
	}
	if j.noSize {
		size = ""
	}
	return fmt.Sprintf(format, class, size, name)
}

// choose returns the files that fit, and the folders that are not excluded. Links are left out.
func (j *job) choose(from string, found []fs.DirEntry) (files []fs.FileInfo, folders []fs.DirEntry) {
	for _, e := range found {
		switch {
		case e.Type()&fs.ModeSymlink != 0:
		case e.IsDir():
			if !excluded(j.notDirs, from, e.Name()) {
				folders = append(folders, e)
			}
		case anyMatch(j.patterns, e.Name()) && !excluded(j.notFiles, from, e.Name()):
			if info, err := e.Info(); err == nil {
				files = append(files, info)
			}
		}
	}

	return files, folders
}

// holds reports whether there is a file to copy in a folder or below it.
func (j *job) holds(dir string) bool {
	found, err := os.ReadDir(dir)
	if err != nil {
		return true // the error shows when it is copied
	}
	files, folders := j.choose(dir, found)
	return len(files) > 0 || slices.ContainsFunc(folders, func(e fs.DirEntry) bool {
		return j.holds(filepath.Join(dir, e.Name()))
	})
}

func anyMatch(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if p == "*.*" {
			return true
		}
		ok, err := filepath.Match(strings.ToLower(p), strings.ToLower(name))
		return err == nil && ok
	})
}

// excluded reports whether a name or a whole path is in a list of /XF or /XD.
func excluded(list []string, dir, name string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		if strings.ContainsAny(one, `\/`) {
			abs, err := filepath.Abs(one)
			return err == nil && strings.EqualFold(abs, filepath.Join(dir, name))
		}
		return anyMatch([]string{one}, name)
	})
}

// extras tells of what is at the destination alone, and with /PURGE takes it away.
func (j *job) extras(to string, from []fs.DirEntry) {
	found, err := os.ReadDir(to)
	if err != nil || j.notExtra {
		return
	}

	for _, e := range found {
		if !j.isExtra(e, to, from) {
			continue
		}

		j.code |= extra
		path := filepath.Join(to, e.Name())
		j.tellExtra(e, path)
		if j.purge && !j.dry {
			if err := os.RemoveAll(path); err != nil {
				j.fail(err, "Deleting Extra File", path)
			}
		}
	}
}

// isExtra reports whether a file or folder is at the destination alone, and not left out.
func (j *job) isExtra(e fs.DirEntry, to string, from []fs.DirEntry) bool {
	same := func(f fs.DirEntry) bool { return strings.EqualFold(f.Name(), e.Name()) }
	if slices.ContainsFunc(from, same) {
		return false
	}
	if e.IsDir() {
		return j.below && !excluded(j.notDirs, to, e.Name())
	}
	return anyMatch(j.patterns, e.Name()) && !excluded(j.notFiles, to, e.Name())
}

// tellExtra counts and tells of what is at the destination alone.
func (j *job) tellExtra(e fs.DirEntry, path string) {
	if e.IsDir() {
		j.dirs.extra++
		if !j.noDirs {
			j.print("%s", j.line("*EXTRA Dir", "-1", folder(path), "\t%-11s%9s\t%s"))
		}
		return
	}

	j.files.extra++
	bytes := int64(0)
	if info, err := e.Info(); err == nil {
		bytes = info.Size()
	}
	j.bytes.extra += bytes
	if !j.noFiles {
		j.print("%s", j.line("*EXTRA File", size(bytes), e.Name(), "\t  %-12s\t\t%8s\t%s"))
	}
}

// class says what a file is beside the one at the destination; "" is the same.
func (j *job) class(file fs.FileInfo, to string) (class string, wanted bool) {
	old, err := os.Stat(to)
	switch {
	case err != nil:
		return "New File", !j.notLonely
	case old.IsDir():
		return "*Mismatch", false
	}

	unit := 100 * time.Nanosecond // of NTFS
	if j.rough {
		unit = 2 * time.Second
	}

	a, b := file.ModTime().Truncate(unit), old.ModTime().Truncate(unit)
	switch {
	case a.After(b):
		return "Newer", !j.notNewer
	case a.Before(b):
		return "Older", !j.notOlder
	case file.Size() != old.Size():
		return "Changed", !j.notChanged
	}

	return "same", j.same
}

// file copies a file if it is wanted.
func (j *job) file(file fs.FileInfo, from, to string) {
	j.files.total++
	j.bytes.total += file.Size()
	class, wanted := j.class(file, to)
	switch {
	case class == "*Mismatch":
		j.files.mismatch++
		j.bytes.mismatch += file.Size()
		j.code |= mismatch
	case !wanted:
		j.files.skipped++
		j.bytes.skipped += file.Size()
	}

	if !j.noFiles && (wanted || class == "*Mismatch" || j.verbose) {
		j.print("%s", j.line(class, size(file.Size()), file.Name(), "\t    %-10s\t\t%8s\t%s"))
	}
	if !wanted {
		return
	}

	if !j.dry && !j.again(file, from, to) {
		j.files.failed++
		j.bytes.failed += file.Size()
		return
	}

	j.files.copied++
	j.bytes.copied += file.Size()
	j.code |= copied
	if j.move != 0 && !j.dry {
		if err := os.Remove(from); err != nil {
			j.fail(err, "Deleting Source File", from)
		}
	}
}

// again copies a file, and tries again as often as /R says.
func (j *job) again(file fs.FileInfo, from, to string) bool {
	for try := 0; ; try++ {
		err := copyFile(file, from, to)
		if err == nil {
			return true
		}

		code := j.code
		j.fail(err, "Copying File", from)
		if try == j.retries {
			if j.retries > 0 {
				j.print("")
				j.print("ERROR: RETRY LIMIT EXCEEDED.")
				j.print("")
			}
			return false
		}

		j.code = code
		j.print("Waiting %d seconds... Retrying...", int(j.wait.Seconds()))
		<-time.After(j.wait)
	}
}

// copyFile copies a file's data, time and attributes.
func copyFile(file fs.FileInfo, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_ = os.Chmod(to, 0o666) // a file that may only be read is replaced too
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Chtimes(to, time.Time{}, file.ModTime()); err != nil {
		return err
	}
	return os.Chmod(to, file.Mode().Perm())
}

// fail tells of an error as Windows names it.
func (j *job) fail(err error, what, path string) {
	j.code |= failed
	number, text := 1, err.Error()
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrPermission):
		number, text = 5, "Access is denied."
	case errors.Is(err, fs.ErrNotExist):
		number, text = 2, "The system cannot find the file specified."
	case errors.As(err, &errno):
		number, text = int(errno), errno.Error()
	}
	j.print("%s ERROR %d (0x%08X) %s %s", time.Now().Format("2006/01/02 15:04:05"), number, number, what, path)
	j.print("%s", text)
}
