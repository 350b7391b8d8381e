// Package beneath reads and writes files of a folder in which others may put anything in the place of a file or of a
// folder: a host's drive, the folder of a node, a layer of an image. Links do not lead out of the folder.
package beneath

import (
	"errors"
	"fmt"
	"io"
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
	file, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("read %q in %q, at most %d bytes: %w", name, folder.Name(), most, ErrUnfit)
	}
	return io.ReadAll(io.LimitReader(file, most))
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
