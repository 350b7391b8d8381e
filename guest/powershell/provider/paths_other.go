//go:build !windows

package provider

import (
	"io/fs"
	"strings"
)

// linksToFolder reports false: it is for Windows, where a link itself says that it leads to a folder.
func linksToFolder(fs.FileInfo) bool { return false }

// hiddenBits returns 2 for a file whose name begins with a dot, as Wine has it, so that tests have hidden files.
func hiddenBits(info fs.FileInfo) int64 {
	if strings.HasPrefix(info.Name(), ".") && len(info.Name()) > 1 {
		return 2
	}
	return 0
}
