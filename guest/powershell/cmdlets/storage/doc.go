// Package storage has the cmdlets for disks, partitions, volumes and iSCSI: those of the modules Storage and iSCSI.
package storage
