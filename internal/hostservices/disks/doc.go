// Package disks owns the data disks of a Windows host: what each is, its partitions, and the volumes on them, which it
// mounts. The cmdlets of the host ask for them, and the operator gives and takes disks (package hostdisk).
//
// A disk is a sparse file. It has the partition table that Windows writes, GPT, and in each formatted partition a file
// system of the kernel's, XFS, which programs see as NTFS. So a volume has a size that the kernel keeps to, and what
// was flushed survives whatever is killed: nothing but the kernel is between a program and the file. XFS and not ext4:
// only a process with CAP_SYS_RESOURCE can grow ext4 while it is mounted.
//
//	RAW --Initialize--> GPT --Partition--> partition --Format--> volume, mounted at <Mounts>/<GUID>
//
// A volume is mounted from then on, in whatever life of the agent, unless its disk is offline. Its loop device has
// LO_FLAGS_AUTOCLEAR: the kernel frees it with the last mount, those of containers included, so none is ever left. As
// long as somebody holds it, the bytes have no second mount: a loop device of the same bytes is used again.
package disks
