// Package orphans reaps orphans for the first process of a PID namespace: it waits for processes that lost their
// parent, and reports each one's name and exit status. The first process of a Windows host and that of a Windows
// container use it, mainly to learn that Wine's server has died: the Windows programs that it served do not end then,
// they stand still for ever.
//
// The package keeps to the syscall package: one copy of it runs in every container, and its memory counts in each.
package orphans

import "strings"

// IsWineServer reports whether a process of that name (the kernel's, of 15 characters) is Wine's server, "wineserver"
// or "wineserver64".
func IsWineServer(name string) bool { return strings.HasPrefix(name, "wineserver") }
