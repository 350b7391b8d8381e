package kubenode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/node/nodeconfig"
)

// Node is a node of one of the two systems. A file of the node is named by the path that it has on Linux; on Windows it
// is at the same place on C:.
type Node struct {
	Config
	// OS is the node's system, spec.Linux or spec.Windows.
	OS string
	// Root is the machine's path of the folder with the node's files. Pods with a hostPath volume write to it: what is
	// written for the node is written beneath it, whatever links they put there.
	Root string
	// File returns the machine's path of a file of the node, given by the path that the node's programs know.
	File func(path string) (string, error)
	// Tweak adds to the kubelet's configuration what the node's system asks for.
	Tweak func(*kubeletv1beta1.KubeletConfiguration)
}

// Path returns a path as the node's programs write it.
func (n Node) Path(path string) string { return nodeconfig.Path(n.OS, path) }

// file returns the machine's path of a file of the node.
func (n Node) file(path string) (string, error) { return n.File(n.Path(path)) }

// WriteFile replaces a file of the node whole or not at all.
func (n Node) WriteFile(path string, data []byte, mode fs.FileMode) error {
	err := n.within(path, func(root *os.Root, name string) error { return beneath.Write(root, name, data, mode) })
	if err != nil {
		return fmt.Errorf("write file of host %q: %w", n.Name, err)
	}
	return nil
}

// maxFile is the size of the largest file of the node that is read, in bytes.
const maxFile = 16 << 20

// ReadFile reads a file of the node.
func (n Node) ReadFile(path string) (data []byte, err error) {
	err = n.within(path, func(root *os.Root, name string) error {
		data, err = beneath.Read(root, name, maxFile)
		return err
	})
	return data, err
}

// RemoveAll removes a file or a folder of the node.
func (n Node) RemoveAll(path string) error {
	return n.within(path, func(root *os.Root, name string) error { return root.RemoveAll(name) })
}

// exists reports whether there is a file of the node, or a link wherever it leads.
func (n Node) exists(path string) (there bool, err error) {
	err = n.within(path, func(root *os.Root, name string) error {
		_, err := root.Lstat(name)
		if there = err == nil; errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return there, err
}

// link makes a link of the node to a name beside it.
func (n Node) link(path, target string) error {
	err := n.within(path, func(root *os.Root, name string) error { return root.Symlink(target, name) })
	if err != nil {
		return fmt.Errorf("link file of host %q: %w", n.Name, err)
	}
	return nil
}

// MkdirAll makes a folder of the node, and those above it.
func (n Node) MkdirAll(path string, mode fs.FileMode) error {
	return n.within(path, func(root *os.Root, name string) error { return root.MkdirAll(name, mode) })
}

// Chmod sets the mode of a folder of the node. It opens the folder and sets the mode of what it opened, so a link put
// in the folder's place meanwhile changes nothing.
func (n Node) Chmod(path string, mode fs.FileMode) error {
	return n.within(path, func(root *os.Root, name string) error {
		folder, err := root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return errors.Join(folder.Chmod(mode), folder.Close())
	})
}

// Assign gives a folder of the node, opened as Chmod opens it, to a group of the machine. With mode 0 its mode stays,
// but that what is made in it is of the same group.
func (n Node) Assign(path string, group int, mode fs.FileMode) error {
	return n.within(path, func(root *os.Root, name string) error {
		folder, err := root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer folder.Close()
		info, err := folder.Stat()
		if err != nil {
			return err
		}

		if mode == 0 {
			mode = info.Mode() | fs.ModeSetgid
		}
		if err := folder.Chown(-1, group); err != nil {
			return err
		}
		return folder.Chmod(mode) // afterwards: a change of the group takes the bit away
	})
}

// within opens the folder with the node's files, which it makes if it is missing, and calls do with that folder and the
// name that the node's file has in it.
func (n Node) within(path string, do func(root *os.Root, name string) error) error {
	on, err := n.file(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(n.Root, on)
	if err != nil {
		return err
	}
	return beneath.Within(n.Root, func(root *os.Root) error { return do(root, name) })
}
