// Package filecopy copies the content of one regular file. The caller decides what happens to an existing file, to
// modes and to times.
package filecopy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mullion.dev/mullion/internal/base/beneath"
)

// ErrFolder says that the source is a folder.
var ErrFolder = errors.New("it is a folder")

// Onto copies the content of the file from to the file to. If to exists, it keeps its mode; otherwise it is made with
// mode, less the umask. Onto returns the FileInfo of from.
func Onto(from, to string, mode fs.FileMode) (fs.FileInfo, error) {
	in, info, err := open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	return info, write(in, to, os.O_TRUNC, mode)
}

// New copies the content of the file from to a new file with that mode. An existing file is replaced, not written into,
// because it may be one of several names (hard links) of a file. New returns the FileInfo of from.
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

// open opens the source, which has to be a regular file.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := beneath.OpenPath(path)
	if unfit, ok := errors.AsType[*beneath.UnfitError](err); ok && unfit.Folder {
		err = fmt.Errorf("copy %q: %w", path, ErrFolder)
	}
	return f, info, err
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
