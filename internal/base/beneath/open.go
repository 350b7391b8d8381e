package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UnfitError is an ErrUnfit: what is in the file's place.
type UnfitError struct {
	Path string
	// What says what it is and why that is not read: "a named pipe, and only regular files are read".
	What string
	// Folder says that it is a folder.
	Folder bool

	pipe bool
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("read %q: it is %s", e.Path, e.What)
}

// Is makes it an ErrUnfit.
func (e *UnfitError) Is(err error) bool { return err == ErrUnfit }

// Open opens a regular file of a folder, whose name is relative to it, for reading. Nothing in the file's place holds
// it up. The error is os.ErrNotExist if there is none, and an UnfitError for anything else in its place.
func Open(folder *os.Root, name string) (*os.File, fs.FileInfo, error) {
	return open(filepath.Join(folder.Name(), name),
		func() (fs.FileInfo, error) { return folder.Stat(name) },
		func(flag int) (*os.File, error) { return folder.OpenFile(name, flag, 0) })
}

// OpenPath is Open for a path that somebody named, wherever links lead.
func OpenPath(path string) (*os.File, fs.FileInfo, error) {
	return open(path,
		func() (fs.FileInfo, error) { return os.Stat(path) },
		func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) })
}

// OpenGiven is OpenPath for what a person names as input: it also takes a pipe that the process was started with, which
// is what a shell makes of <(command). Whoever reads it has to end with a context.
func OpenGiven(path string) (*os.File, error) {
	file, _, err := OpenPath(path)
	if unfit, ok := errors.AsType[*UnfitError](err); ok && unfit.pipe && ownPipe(path) {
		return os.Open(path)
	}
	return file, err
}

// ownPipe reports whether a path is the name of a file that the process has open.
func ownPipe(path string) bool {
	dir := filepath.Dir(path)
	return path == "/dev/stdin" || dir == "/dev/fd" || dir == "/proc/self/fd"
}

// ReadPath reads a regular file of at most so many bytes by a path that somebody named, wherever links lead.
func ReadPath(path string, most int64) ([]byte, error) {
	file, info, err := OpenPath(path)
	if err != nil {
		return nil, err
	}
	return readAll(file, info, most)
}

// open looks before it opens, as to open a device can do something, and once more afterwards, as somebody may have
// changed it between.
func open(name string, stat func() (fs.FileInfo, error), open func(flag int) (*os.File, error)) (
	*os.File, fs.FileInfo, error,
) {
	info, err := stat()
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		wrong.Op = "open" // that is what was asked for
	}

	if err == nil {
		err = fit(name, info)
	}
	if err != nil {
		return nil, nil, err
	}

	file, err := open(os.O_RDONLY | syscall.O_NONBLOCK)
	if err != nil {
		return nil, nil, err
	}

	info, err = file.Stat()
	if err == nil {
		err = fit(name, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}

	return file, info, nil
}

// readAll reads and closes a file.
func readAll(file *os.File, info fs.FileInfo, most int64) ([]byte, error) {
	defer func() { _ = file.Close() }() // it was only read
	tooLarge := &UnfitError{Path: file.Name(), What: fmt.Sprintf("larger than %d bytes, the most that is read", most)}
	if info.Size() > most {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most { // it grew, or is one of those of /proc, which have no size
		return nil, tooLarge
	}
	return data, err
}

// fit is nil for a regular file.
func fit(name string, info fs.FileInfo) error {
	mode := info.Mode()
	if mode.IsRegular() {
		return nil
	}

	what := "neither file nor folder"
	switch {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}

	return &UnfitError{
		Path:   name,
		What:   what + ", and only regular files are read",
		Folder: mode.IsDir(),
		pipe:   mode&fs.ModeNamedPipe != 0,
	}
}
