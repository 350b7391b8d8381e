// Package volume owns the programs that show and change what is on a drive as a whole: tree.com, label.exe, chkdsk.exe
// and cipher.exe. The drives of this Windows are folders of another system's disks, so nothing of them can be checked
// or encrypted; the programs say so in Windows' words.
package volume

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// Exit codes of the programs.
const (
	exitDone   = 0
	exitFailed = 1
)

// Volume is what Windows says of a volume.
type Volume struct {
	Label, FileSystem string
	Serial            uint32
}

// System is what the programs need of Windows.
type System interface {
	// Volume returns the volume of a drive or share, whose root is given with its backslash.
	Volume(root string) (Volume, error)
	// SetLabel gives a volume a label, "" takes it away.
	SetLabel(root, label string) error
}

// drive returns the drive or share of a path, "C:", and its root; on a system without drives both are of C.
func drive(path string) (name, root string) {
	if name = filepath.VolumeName(path); name == "" {
		return "C:", string(filepath.Separator)
	}
	return strings.ToUpper(name), name + `\`
}

// isDrive reports whether an argument is a drive, "C:" or `C:\`.
func isDrive(arg string) bool {
	letter := strings.TrimSuffix(arg, `\`)
	return len(letter) == 2 && letter[1] == ':' && (letter[0]|0x20) >= 'a' && (letter[0]|0x20) <= 'z'
}

// words returns an error in the words of Windows.
func words(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "Access is denied."
	case errors.Is(err, fs.ErrNotExist):
		return "The system cannot find the path specified."
	}
	return err.Error()
}
