// Package cgroup makes, limits and removes cgroups of the machine, on cgroup v1 and v2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html). A cgroup is named by its path below each hierarchy's root,
// "/a/b". The package does not know whose cgroups they are and puts no process into them.
package cgroup

import "errors"

// ErrNoController says that a cgroup controller, which would keep a limit, is not there.
var ErrNoController = errors.New("the cgroup controller is not there")
