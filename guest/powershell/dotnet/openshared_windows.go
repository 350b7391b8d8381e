package dotnet

import (
	"os"

	"golang.org/x/sys/windows"
)

// openShared opens a file for a FileMode, a FileAccess and a FileShare, whose numbers are those of Windows
// (https://learn.microsoft.com/dotnet/api/system.io.fileshare).
func openShared(path string, mode, access, share int64) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}

	var how uint32
	if access&1 != 0 {
		how |= windows.GENERIC_READ
	}

	if access&2 != 0 {
		how |= windows.GENERIC_WRITE
	}

	disposition := uint32(mode) // CreateNew to Truncate are CREATE_NEW to TRUNCATE_EXISTING
	const appends = 6
	if mode == appends {
		how, disposition = windows.FILE_APPEND_DATA, windows.OPEN_ALWAYS
	}

	const all = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

	h, err := windows.CreateFile(name, how, uint32(share)&all, nil, disposition, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{
			Op:   "open",
			Path: path,
			Err:  err,
		}
	}

	return os.NewFile(uintptr(h), path), nil
}
