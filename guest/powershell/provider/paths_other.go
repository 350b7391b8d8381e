//go:build !windows

package provider

import "io/fs"

// linksToFolder reports false: it is for Windows, where a link itself says that it leads to a folder.
func linksToFolder(fs.FileInfo) bool { return false }
