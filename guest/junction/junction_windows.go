package junction

import (
	"os"

	"golang.org/x/sys/windows"
)

// Make makes a junction to a folder, whose whole name is given. An error leaves nothing behind.
func Make(name, target string) error {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	if err := os.Mkdir(name, 0o777); err != nil {
		return err
	}
	if err := set(path, data(target)); err != nil {
		_ = os.Remove(name) // the first error tells
		return err
	}
	return nil
}

// set gives an empty folder the data of a junction.
func set(path *uint16, data []byte) error {
	h, err := windows.CreateFile(path, windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h) //nolint:errcheck // what is set is set
	var n uint32
	return windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &data[0], uint32(len(data)), nil, 0, &n, nil)
}
