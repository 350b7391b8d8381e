//go:build !windows

package junction

import "os"

// Make makes a symbolic link: other systems, which only run tests, have no junctions.
func Make(name, target string) error { return os.Symlink(target, name) }
