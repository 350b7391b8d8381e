//go:build !linux

package beneath

// folderOnly is nothing where no pipe can be in a folder.
const folderOnly = 0
