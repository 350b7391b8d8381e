// Package filecopy owns the copying of one file's content. What becomes of a file that is there already, and of modes
// and times, is the caller's to say.
package filecopy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrFolder says that what is to be copied is a folder.
var ErrFolder = errors.New("it is a folder")

// Onto copies the content of the file from to the file to. That one keeps its mode if it is there, and is made with
// mode, less the umask, if not. Onto returns what from is.
func Onto(from, to string, mode fs.FileMode) (fs.FileInfo, error) {
	in, info, err := open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	return info, write(in, to, os.O_TRUNC, mode)
}

// New copies the content of the file from to a new file with that mode. What is at to is replaced, not written into,
// since it may be one of several names of a file. New returns what from is.
func New(from, to string, mode fs.FileMode) (fs.FileInfo, error) {
	in, info, err := open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := write(in, to, os.O_EXCL, mode); err != nil {
		return nil, err
	}
	return info, os.Chmod(to, mode)
}

// open opens a file to be copied.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("copy %q: %w", path, ErrFolder)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// write copies in to a file that is opened with a flag besides those for writing. Where the file system can, the copy
// shares the blocks of the original.
func write(in *os.File, to string, flag int, mode fs.FileMode) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|flag, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %q to %q: %w", in.Name(), to, err)
	}
	return nil
}
