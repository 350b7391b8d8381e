package kubenode

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"mullion.dev/mullion/internal/spec"
)

// A person may put a program of their own in the place of one of upstream's on a node. It lies in the node's folder of
// state, and that it lies there is all that says so: the program is looked for at each start.

// OwnDir returns the folder of such programs of the node whose folder of state is dir.
func OwnDir(dir string) string { return filepath.Join(dir, "own") }

// ProgramName returns the name of the file of Kubelet or KubeProxy on a node of that system.
func ProgramName(part, system string) string {
	if system == spec.Windows {
		return part + ".exe"
	}
	return part
}

// OwnProgram returns the file of the node whose folder of state is dir that stands in for upstream's of that name; ok
// is false where there is none.
func OwnProgram(dir, name string) (file string, ok bool) {
	file = filepath.Join(OwnDir(dir), name)
	_, err := os.Stat(file)
	return file, err == nil
}

// CopyProgram makes a program of the machine a file of the node. Whatever is in its place is removed: it may be one of
// several names of a file.
func (n Node) CopyProgram(file, path string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	return n.within(path, func(root *os.Root, name string) error {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}

		out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}
