package podnet

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// The host's programs may put anything in the place of a file or folder of its drive. So files are opened beneath the
// drive, out of which links do not lead.

// maxFile is the size of the largest file of the drive that is read, in bytes.
const maxFile = 1 << 20

// readFile reads a small file of the drive. name is relative to it, with slashes.
func readFile(drive *os.Root, name string) ([]byte, error) {
	// A pipe in the file's place does not hold us up.
	file, err := drive.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%q is not a file of at most %d bytes", name, maxFile)
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// readOf is readFile for a drive by its path on this machine.
func readOf(drive, name string) ([]byte, error) {
	root, err := os.OpenRoot(drive)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readFile(root, name)
}

// writeOf writes a file of a drive, whose path on this machine is given, whole or not at all, and makes what
// is missing of its folder.
func writeOf(drive, name string, data []byte) error {
	if err := os.MkdirAll(drive, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(drive)
	if err != nil {
		return err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteIn(root, name, data, 0o644)
}
