//go:build !linux

package beneath

import "os"

// RemoveAll removes a file, or a folder with all that is in it. One that is gone is no error.
func RemoveAll(folder *os.Root, name string) error { return folder.RemoveAll(name) }
