package wine

import "fmt"

// userUID is the id of User in a container's etc/passwd.
const userUID = 1000

// runtimeDir is a user's runtime folder, without the leading slash. Debian's Wine has its server's socket there; where
// the folder is missing, Wine 10.0 of Debian 13 aborts ("free(): invalid pointer"), and Wine 8.0 of Debian 12 takes a
// folder below TMPDIR: the patch "temporary-directory" of Debian's package. Everything that runs Wine has one.
func runtimeDir(uid int) string { return fmt.Sprintf("run/user/%d", uid) }

// HostRuntimeDir is where a Windows host has the runtime folder of its user.
func HostRuntimeDir() string { return "/" + runtimeDir(0) }
