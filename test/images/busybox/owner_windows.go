package main

import "io/fs"

// owner gives 0: Windows has no owners by number.
func owner(fs.FileInfo) (uid, gid int) { return 0, 0 }
