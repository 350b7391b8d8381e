// Package keeper starts processes that keep a file system of a server which anybody may have named, such as a share of
// SMB or a disk of iSCSI, and mounts what they serve by FUSE. Such a process is a user of its own without any rights.
// It outlives who starts it; when it ends, who uses the file system gets errors. Whoever starts it bounds what it says
// and the time for that, for its server may have broken into it.
package keeper
