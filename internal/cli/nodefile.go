package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/cli/exit"
)

// filePlace is where a file is: on this machine, or on the C: drive of a node's host, where containers may write too.
type filePlace struct {
	path string
	// drive is the folder that is C:, beneath which the path lies; "" for a file that a person named on this machine.
	drive string
}

// within calls do with the drive and the file's name in it.
func (p filePlace) within(do func(drive *os.Root, name string) error) error {
	drive, err := os.OpenRoot(p.drive)
	if err != nil {
		return err
	}
	defer drive.Close()
	name, err := filepath.Rel(p.drive, p.path)
	if err != nil {
		return err
	}
	return do(drive, name)
}

// open opens a regular file for reading.
func (p filePlace) open() (file *os.File, err error) {
	if p.drive == "" {
		file, _, err = beneath.OpenPath(p.path)
		return file, err
	}
	err = p.within(func(drive *os.Root, name string) (err error) {
		file, _, err = beneath.Open(drive, name)
		return err
	})
	return file, err
}

// create opens a file to be written anew. On a drive it has to be a regular one; a person may name a device.
func (p filePlace) create() (file *os.File, err error) {
	const mode = 0o666
	if p.drive == "" {
		return os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	}
	err = p.within(func(drive *os.Root, name string) (err error) {
		file, err = beneath.Create(drive, name, mode)
		return err
	})
	return file, err
}

// copyFile copies a file to a new one or onto an existing one, with errors for a person.
func copyFile(from, to filePlace) error {
	in, err := from.open()
	if err != nil {
		return unreadable(from.path, err)
	}
	defer func() { _ = in.Close() }() // it was only read

	out, err := to.create()
	if errors.Is(err, os.ErrNotExist) {
		return &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("copy %s: the folder of %s is not there", from.path, to.path),
			Remedy: `make it first, for example with: mullion node exec NODE -- cmd /c "mkdir C:\tools"`,
		}
	}
	if errors.Is(err, beneath.ErrUnfit) {
		return exit.Misuse(fmt.Errorf("copy %s to %s: %w", from.path, to.path, err), "name another file")
	}
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %s to %s: %w", from.path, to.path, err)
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
