// Package atomicfile writes files atomically: a reader, also after kill -9 or a loss of power, sees either the old
// content or the new, never a part.
package atomicfile

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the file at path, which gets the mode perm whatever the umask is. The folder must exist.
func Write(path string, data []byte, perm os.FileMode) error {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer folder.Close()
	return WriteIn(folder, filepath.Base(path), data, perm)
}

// WriteIn is Write for a file beneath a folder that others write to: a link among the name's folders that leads out of
// the folder is an error, and a link in the file's own place is replaced.
func WriteIn(folder *os.Root, name string, data []byte, perm os.FileMode) error {
	return streamIn(folder, name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// ErrNoFile says that something is no regular file.
var ErrNoFile = errors.New("it is no regular file")

// Stream is Write for what is not held in memory, and whose path a person has named: write writes the content. What is
// there and is no regular file stays, such as /dev/null, which would be one then; the error is ErrNoFile.
func Stream(path string, perm os.FileMode, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %q: %w", path, ErrNoFile)
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer folder.Close()
	return streamIn(folder, filepath.Base(path), perm, write)
}

func streamIn(folder *os.Root, name string, perm os.FileMode, write func(io.Writer) error) error {
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	f, err := folder.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %q in %q: %w", name, folder.Name(), err)
	}

	err = errors.Join(write(f), f.Chmod(perm), f.Sync(), f.Close())
	if err == nil {
		err = folder.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %q in %q: %w", name, folder.Name(), err), folder.Remove(temporary))
	}

	return nil
}

// WriteJSON writes v as indented JSON, with mode 0600.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return Write(path, append(data, '\n'), 0o600)
}
