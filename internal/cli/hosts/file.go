package hosts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/cli/exit"
)

// Place is where a file is: on this machine, or on the C: drive of a node's host, where containers may write too.
type Place struct {
	Path string
	// Drive is the folder that is C:, beneath which the path lies; "" for a file that a person named on this machine.
	Drive string
}

// Within calls do with the drive and the file's name in it.
func (p Place) Within(do func(drive *os.Root, name string) error) error {
	drive, err := os.OpenRoot(p.Drive)
	if err != nil {
		return err
	}
	defer drive.Close()
	name, err := filepath.Rel(p.Drive, p.Path)
	if err != nil {
		return err
	}
	return do(drive, name)
}

// open opens a regular file for reading.
func (p Place) open() (file *os.File, err error) {
	if p.Drive == "" {
		file, _, err = beneath.OpenPath(p.Path)
		return file, err
	}
	err = p.Within(func(drive *os.Root, name string) (err error) {
		file, _, err = beneath.Open(drive, name)
		return err
	})
	return file, err
}

// create opens a file to be written anew. On a drive it has to be a regular one; a person may name a device.
func (p Place) create() (file *os.File, err error) {
	const mode = 0o666
	if p.Drive == "" {
		return os.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	}
	err = p.Within(func(drive *os.Root, name string) (err error) {
		file, err = beneath.Create(drive, name, mode)
		return err
	})
	return file, err
}

// Copy copies a file to a new one or onto an existing one, with errors for a person.
func Copy(from, to Place) error {
	in, err := from.open()
	if err != nil {
		return unreadable(from.Path, err)
	}
	defer func() { _ = in.Close() }() // it was only read

	out, err := to.create()
	if errors.Is(err, os.ErrNotExist) {
		return &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("copy %s: the folder of %s is not there", from.Path, to.Path),
			Remedy: `make it first, for example with: mullion node exec NODE -- cmd /c "mkdir C:\tools"`,
		}
	}

	if errors.Is(err, beneath.ErrUnfit) {
		return exit.Misuse(fmt.Errorf("copy %s to %s: %w", from.Path, to.Path, err), "name another file")
	}
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from.Path, to.Path, err)
	}

	return nil
}

// unreadable gives the error of a file that is to be copied its exit code and remedy.
func unreadable(path string, err error) error {
	unfit, ok := errors.AsType[*beneath.UnfitError](err)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &exit.Error{Code: exit.NotFound, Err: err}
	case ok && unfit.Folder:
		return exit.Misuse(fmt.Errorf("%s is a folder", path), "copy files one by one")
	case ok:
		return exit.Misuse(fmt.Errorf("copy %s: %w", path, err), "name a regular file")
	}
	return err
}
