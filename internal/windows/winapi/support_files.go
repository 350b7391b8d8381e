package winapi

import "mullion.dev/mullion/internal/base/support"

func fileRows() []support.Row {
	const fileInfo = drivers + "ddi/ntddk/ns-ntddk-_file_disposition_information_ex"

	return []support.Row{
		{
			Name:  "CreateSymbolicLinkW, junctions, reparse points",
			Level: support.Partly,
			Ref:   win32 + "fileio/symbolic-links",
			Note:  "symbolic links and junctions on the drive; of a host also to SMB shares and to volumes of its data disks; no other reparse tags",
		},
		{Name: "FileDispositionInformationEx, FileRenameInformationEx", Level: support.Supported, Ref: fileInfo},
		{Name: "renaming a file to another letter case", Level: support.Supported, Ref: win32 + "fileio/naming-a-file"},
		{
			Name:  "listings with links and their tags",
			Level: support.Supported,
			Ref:   drivers + "ddi/ntifs/nf-ntifs-ntquerydirectoryfile",
		},
		{
			Name:  "names that Windows does not have",
			Level: support.Supported,
			Ref:   win32 + "fileio/naming-a-file",
			Note: "what a Linux program has named a*b, ..\\v, con or with bytes that are no UTF-8 has one name, with characters from U+F001 to U+F0FF in their place as in WSL; " +
				"it is listed, opened, renamed and deleted by it",
		},
		{
			Name:  "security descriptors of files",
			Level: support.Partly,
			Ref:   win32 + "fileio/file-security-and-access-rights",
			Note: "owner, group and list are kept, lists are inherited from the folder above as it is now, and C:\\ has those of Windows Server's containers; other folders of Windows " +
				"(C:\\Windows, C:\\Users) have nothing of their own, lists in an image's layers are not read, audit lists are not kept. Who may do what is for Linux' modes to say, " +
				"which a list sets in a container; on a host lists forbid its programs nothing",
		},
		{
			Name:  "BackupWrite, BackupRead",
			API:   []string{"kernel32.dll BackupRead"},
			Level: support.Partly,
			Ref:   win32 + "api/winbase/nf-winbase-backupwrite",
			Note: "on a host BackupWrite writes the data and the reparse point of a file; security descriptors, extended attributes, alternate streams and object ids are dropped, sparse " +
				"blocks refused. BackupRead reads the data of a file",
		},
		{
			Name:  "alternate data streams",
			Level: support.Not,
			Ref:   win32 + "fileio/file-streams",
			Note:  "Wine has none: name:stream is a file of that whole name",
		},
	}
}
