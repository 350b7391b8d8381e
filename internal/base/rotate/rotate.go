// Package rotate writes logs that are bounded: a file that has reached its size makes room for the next one, and of
// earlier ones two are kept. It does not know what a log says.
package rotate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is a log that is added to. Its mode is 0600. It is not safe for concurrent use.
type File struct {
	path  string
	limit int64
	file  *os.File
	size  int64
}

// Open opens the log at path, made with its folder if it is not there. limit is the size, in bytes, that a file does
// not exceed unless a single Write does.
func Open(path string, limit int64) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	f := &File{path: path, limit: limit}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// Names returns the files that a log at path may have, the oldest first.
func Names(path string) []string { return []string{path + ".2", path + ".1", path} }

// Remove removes a log with its earlier files. One that is not there is no error.
func Remove(path string) error {
	var errs []error
	for _, name := range Names(path) {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log: %w", err), file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write adds p, which is never divided between two files. Of a write that fails, as on a full disk, nothing stays.
func (f *File) Write(p []byte) (int, error) {
	if f.size > 0 && f.size+int64(len(p)) > f.limit {
		f.rotate()
	}

	n, err := f.file.Write(p)
	if err != nil && n > 0 {
		if cutErr := f.file.Truncate(f.size); cutErr == nil {
			return 0, err
		}
	}
	f.size += int64(n)
	return n, err
}

// rotate moves the file to .1 and .1 to .2. If a step fails, output goes on to the old file, and the next Write tries
// again: then the file may have its new name already.
func (f *File) rotate() {
	for _, step := range [][2]string{{f.path + ".1", f.path + ".2"}, {f.path, f.path + ".1"}} {
		if err := os.Rename(step[0], step[1]); err != nil && !errors.Is(err, os.ErrNotExist) {
			return
		}
	}

	old := f.file
	if err := f.open(); err != nil {
		return
	}
	_ = old.Close() // nothing is buffered; the data has been written
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
