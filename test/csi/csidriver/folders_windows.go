package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// keepOwner does nothing: a file has the permissions of the folder that it is in.
func (d disk) keepOwner(string, string) error { return nil }

// capacity returns how much fits below a folder.
func capacity(folder string) (int64, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return int64(free), err // no disk has as many bytes
}

// publish makes a link to a volume's folder at target, as drivers on Windows do. The kubelet has the pod see it
// read-only, if it shall.
func publish(folder, target string, _ bool) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	if err := os.Symlink(folder, target); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// unpublish removes the link.
func unpublish(target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
