package system

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/hostdisk"
)

// diskTimeout bounds how long a host's agent has to take a request.
const diskTimeout = 30 * time.Second

// askForDisks asks the host's agent. A container has none, and sees no disks.
func askForDisks(ctx context.Context, request hostdisk.Request) (hostdisk.Answer, error) {
	dial, cancel := context.WithTimeout(ctx, diskTimeout)
	defer cancel()
	conn, err := winio.DialPipeContext(dial, hostdisk.Pipe)
	if errors.Is(err, os.ErrNotExist) && request.Do == hostdisk.Get {
		return hostdisk.Answer{}, nil
	}
	if err != nil {
		return hostdisk.Answer{}, err
	}
	defer conn.Close()
	return hostdisk.Ask(conn, request)
}

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
