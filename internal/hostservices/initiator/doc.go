// Package initiator is the iSCSI initiator of a Windows host, the service MSiSCSI, in user space. It keeps portals and
// sessions, and gives the disks of the sessions' targets to the host (package disks). The cmdlets of the host ask for
// it.
//
// Each session is a process of its own ("keep-disks"), which is logged in to the target (package iscsi) and shows each
// of its disks as a file by FUSE, below which the host's volumes have loop devices. It outlives the agent. It runs in
// the host's network namespace, as a user without rights: nobody else reads the messages of iSCSI and SCSI. What the
// agent reads of the process, which may be broken into, it does not trust: it follows no link that is served.
//
// The bytes of a target's disks have other readers (package disks): the agent, as root and in Go, reads the partition
// table and the mark of a file system; blkid, as a user without rights, what a file system without the mark is;
// mkfs.xfs, as root, what it formats; and the kernel mounts XFS with the mark.
//
// While a target does not answer, the process logs in anew, and who uses the disk waits, as long as on Windows
// (MaxRequestHoldTime). Then the process ends, and all that waits gets errors; the disks and their volumes are gone for
// the host. The agent makes the session again when the target is back, and mounts the volumes; a program or a container
// that had a volume has to open it anew. It is the same after a kill -9 of the process, of the agent, of both.
//
// A session ends with the machine's boot, unless it is persistent.
package initiator
