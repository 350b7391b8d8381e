//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// owner gives a file's owner and group.
func owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return 0, 0
}
