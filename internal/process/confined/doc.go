// Package confined protects the machine from a server that runs as a process of its own, such as CoreDNS: the server
// has a user of its own, cannot get more rights, and has a folder of files that it may read but not write. The package
// does not own the server's configuration and does not keep the server alive (package proc).
package confined

import (
	"os"
	"path/filepath"
)

// Program is a server to confine.
type Program struct {
	// Name is what the process is called.
	Name string
	// Dir is the folder of files that it reads; everybody must be able to traverse the folders above it.
	Dir string
	// UserID is the id of the user and of the group that it runs as; nothing else should use it.
	UserID int
	// Capabilities are the ones that it keeps, by number (capabilities(7)).
	Capabilities []uintptr
	// Data is a folder that is its own, to read and to write; "" for none. It may lie where its user cannot go: the
	// program finds it at DataPath.
	Data string
}

// FileMode is the mode for files in the folder, whose group is the program's.
const FileMode os.FileMode = 0o640

// File returns the path of a file in the folder.
func (p Program) File(name string) string { return filepath.Join(p.Dir, name) }

// DataPath returns the path by which the program finds Data: that of a descriptor, which it has from its start.
func (p Program) DataPath() string { return "/proc/self/fd/4" }

// link returns the path of the symbolic link that is executed; the process gets its name.
func (p Program) link() string { return p.File(p.Name) }
