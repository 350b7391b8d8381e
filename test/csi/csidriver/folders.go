package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// folders is where volumes are: a folder of a node, or a share of an SMB server. Paths have slashes.
type folders interface {
	// Make makes a folder and those above it.
	Make(path string) error
	// Copy copies a folder with all that is below it to a path where nothing is.
	Copy(from, to string) error
	// Remove removes what is at a path, if anything is, and all that is below it.
	Remove(path string) error
	Read(path string) ([]byte, error)
	// Write writes a file, whole or not at all.
	Write(path string, data []byte) error
}

// disk is a folder of a node. Pods write below it, so that it is never left by a link.
type disk struct{ root *os.Root }

// openDisk opens a folder, which is made if it is not there.
func openDisk(folder string) (disk, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return disk{}, err
	}
	root, err := os.OpenRoot(folder)
	return disk{root}, err
}

func (d disk) Make(name string) error { return d.root.MkdirAll(filepath.FromSlash(name), 0o777) }

func (d disk) Remove(name string) error { return d.root.RemoveAll(filepath.FromSlash(name)) }

func (d disk) Read(name string) ([]byte, error) { return d.root.ReadFile(filepath.FromSlash(name)) }

func (d disk) Write(name string, data []byte) error {
	name = filepath.FromSlash(name)
	if err := d.root.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return d.root.Rename(name+".new", name)
}

func (d disk) Copy(from, to string) error {
	return fs.WalkDir(d.root.FS(), from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(filepath.FromSlash(from), filepath.FromSlash(name))
		if err != nil {
			return err
		}

		source, target := filepath.FromSlash(name), filepath.Join(filepath.FromSlash(to), below)
		switch {
		case entry.IsDir():
			err = d.root.MkdirAll(target, 0o777)
		case entry.Type() == fs.ModeSymlink:
			var link string
			if link, err = d.root.Readlink(source); err == nil {
				err = d.root.Symlink(link, target)
			}

		case entry.Type().IsRegular():
			err = d.copyFile(source, target)
		default:
			return fmt.Errorf("copy %s: it is neither a file nor a folder nor a link", name)
		}
		if err != nil {
			return err
		}

		return d.keepOwner(source, target)
	})
}

func (d disk) copyFile(source, target string) (err error) {
	in, err := d.root.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := d.root.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// usage counts the bytes and the files of a folder.
func (d disk) usage(name string) (bytes, files int64, err error) {
	err = fs.WalkDir(d.root.FS(), name, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a pod has just removed it
			return nil
		}
		if err != nil {
			return err
		}

		files++
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}

		return nil
	})

	return bytes, files, err
}

// folder returns the path of a folder below the disk's, as programs of the node name it.
func (d disk) folder(name string) string {
	return filepath.Join(d.root.Name(), filepath.FromSlash(path.Clean("/" + name)[1:]))
}
