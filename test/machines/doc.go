// Package machines tries Mullion on ordinary machines: guests with a distribution's own kernel, systemd and cgroup v2,
// once as they are installed and once hardened (package guest). The results are in docs/compat/machines, a file for
// each machine; docs/compat/machines.md is printed from them.
package machines
