package system

// The cmdlets of Windows' module Storage that read (https://learn.microsoft.com/en-us/powershell/module/storage); those
// that change are in storagechange.go. The disks are the data disks of the host, which its agent has. A drive that is
// on none of them, such as C:, is a folder of the Linux machine: a volume, with the size of the file system that the
// folder is on, and a partition of no disk.

// Volume is a volume.
type Volume struct {
	Letter     string // such as C
	ID         string // such as \\?\Volume{…}\
	Label      string
	FileSystem string // such as NTFS, "" if it is not known
	Kind       string // Fixed, Removable, CD-ROM
	Size, Free int64  // bytes
}
