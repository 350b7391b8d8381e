package system

import (
	"math"

	"golang.org/x/sys/windows"
)

// longestName is how long a volume's name, label or kind of file system can be, in UTF-16.
const longestName = windows.MAX_PATH + 1

// volumes returns the drives of this machine, by their letters: shares are none.
func volumes() ([]Volume, error) {
	drives, err := windows.GetLogicalDrives()
	if err != nil {
		return nil, err
	}

	var all []Volume
	for i := range 26 {
		if drives&(1<<i) == 0 {
			continue
		}
		if v, is := volumeOf(string(rune('A' + i))); is {
			all = append(all, v)
		}
	}

	return all, nil
}

// volumeOf reads what is known of a drive; is is false if it is no volume of this machine.
func volumeOf(letter string) (v Volume, is bool) {
	root, err := windows.UTF16PtrFromString(letter + `:\`)
	if err != nil {
		return Volume{}, false
	}
	v.Letter = letter
	v.Kind = map[uint32]string{
		windows.DRIVE_REMOVABLE: "Removable", windows.DRIVE_FIXED: "Fixed", windows.DRIVE_CDROM: "CD-ROM",
	}[windows.GetDriveType(root)]

	var id, label, fileSystem [longestName]uint16
	if v.Kind == "" || windows.GetVolumeNameForVolumeMountPoint(root, &id[0], longestName) != nil {
		return Volume{}, false
	}
	v.ID = windows.UTF16ToString(id[:])
	err = windows.GetVolumeInformation(root, &label[0], longestName, nil, nil, nil, &fileSystem[0], longestName)
	if err == nil {
		v.Label, v.FileSystem = windows.UTF16ToString(label[:]), windows.UTF16ToString(fileSystem[:])
	}

	var size, free uint64
	if windows.GetDiskFreeSpaceEx(root, nil, &size, &free) == nil {
		v.Size, v.Free = int64(min(size, math.MaxInt64)), int64(min(free, math.MaxInt64)) // they fit
	}
	return v, true
}
