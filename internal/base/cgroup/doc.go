// Package cgroup makes, limits and removes cgroups of the machine, on cgroup v1 and v2
// (https://docs.kernel.org/admin-guide/cgroup-v2.html), and starts programs in them. A cgroup is named by its path
// below each hierarchy's root, "/a/b". The package does not know whose cgroups they are.
package cgroup

import "errors"

// ErrNoController says that a cgroup controller, which would keep a limit, is not there.
var ErrNoController = errors.New("the cgroup controller is not there")

// Own is the name of the cgroup, in a node's, of the programs of the node's host. cgroup v2 has processes only where no
// controller is passed on: https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint
const Own = "system"
