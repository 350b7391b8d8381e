// Package confined owns how a server that is linked into nothing of ours, such as CoreDNS, is kept from the machine
// that it runs on: a user of its own, no way to more rights, and a folder of files that it may read and not write. It
// does not own what the server is told, nor that it is kept alive (package proc).
package confined

import (
	"os"
	"path/filepath"
)

// Program is a server that is to be confined.
type Program struct {
	// Name is what the process is called.
	Name string
	// Dir is the folder of what it reads; everybody must be able to traverse those above it.
	Dir string
	// UserID is the user and the group that it runs as; it should be nobody else's.
	UserID int
	// Capabilities are the ones that it keeps, by number (capabilities(7)).
	Capabilities []uintptr
}

// FileMode is what files in the folder are to have: the group is the program's.
const FileMode os.FileMode = 0o640

// File is the path of a file in the folder.
func (p Program) File(name string) string { return filepath.Join(p.Dir, name) }

// link is what is executed; its name is the process's.
func (p Program) link() string { return p.File(p.Name) }
