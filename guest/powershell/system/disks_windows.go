package system

import (
	"errors"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// openLink opens a folder, or the link in its place, to change which of both it is.
func openLink(path string) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(name, windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
}

// mountVolume has an empty folder lead to a volume, as SetVolumeMountPoint of Windows does, which Wine does not have.
func mountVolume(path, volume string) error {
	h, err := openLink(path)
	if err != nil {
		return err
	}
	data := winio.EncodeReparsePoint(&winio.ReparsePoint{Target: volume, IsMountPoint: true})
	var used uint32
	// Some hundred bytes.
	err = windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &data[0], uint32(len(data)), nil, 0, &used, nil)
	return errors.Join(err, windows.CloseHandle(h))
}

// unmountVolume makes it an empty folder again.
func unmountVolume(path string) error {
	h, err := openLink(strings.TrimRight(path, `\`))
	if err != nil {
		return err
	}
	data := []byte{
		windows.IO_REPARSE_TAG_MOUNT_POINT & 0xff, 0, 0, windows.IO_REPARSE_TAG_MOUNT_POINT >> 24, 0, 0, 0,
		0,
	}
	var used uint32
	// Eight bytes.
	err = windows.DeviceIoControl(h, windows.FSCTL_DELETE_REPARSE_POINT, &data[0], uint32(len(data)), nil, 0, &used,
		nil)
	return errors.Join(err, windows.CloseHandle(h))
}
