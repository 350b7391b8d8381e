// Package machines tries Mullion on ordinary machines: guests with a distribution's own kernel, systemd and cgroup v2,
// once as they are installed and once hardened (package guest). What happened is kept in docs/compat/machines, a file
// for each machine, and printed as docs/compat/machines.md.
package machines
