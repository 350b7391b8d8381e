// Package beneath reads and writes files of a folder in which others may put anything in the place of a file or of a
// folder: a host's drive, the folder of a node, a layer of an image, a checkout. Links do not lead out of the folder.
// It also opens files that a person names, of which others may have made something else. Only regular files are read:
// a pipe would hold the reader up, and a device has no end.
package beneath

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// ErrUnfit says that something is no regular file, or a larger one than is read.
var ErrUnfit = errors.New("no regular file of the size that is read")

// Read reads a regular file of at most so many bytes. name is relative to the folder. A pipe in the file's place holds
// nobody up. The error is os.ErrNotExist if there is none, and ErrUnfit for anything else in its place.
func Read(folder *os.Root, name string, most int64) ([]byte, error) {
	file, info, err := Open(folder, name)
	if err != nil {
		return nil, err
	}
	return readAll(file, info, most)
}

// ReadIn is Read for a folder by its path.
func ReadIn(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return Read(root, name, most)
}

// Write writes a file whole or not at all. It makes what is missing of the file's folder.
func Write(folder *os.Root, name string, data []byte, perm os.FileMode) error {
	if err := folder.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteIn(folder, name, data, perm)
}

// Create opens a regular file of a folder to be written anew, and makes it if it is missing. A pipe or a device in its
// place is an UnfitError, and a link that leads out of the folder an error.
func Create(folder *os.Root, name string, perm os.FileMode) (*os.File, error) {
	path := filepath.Join(folder.Name(), name)
	info, err := folder.Stat(name)
	if err == nil {
		err = fit(path, info)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}

	file, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, err
	}

	if info, err = file.Stat(); err == nil {
		err = fit(path, info)
	}
	if err == nil {
		err = file.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}

	return file, nil
}

// Within opens a folder, which it makes if it is missing, and calls do with it.
func Within(folder string, do func(*os.Root) error) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root)
}
