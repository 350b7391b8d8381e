//go:build !windows

package xcopy

import "io/fs"

// hidden returns false: only Windows has hidden files.
func hidden(fs.FileInfo) bool { return false }
