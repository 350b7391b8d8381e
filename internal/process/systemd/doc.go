// Package systemd owns what Mullion asks of the service manager of the machine: a scope for the processes of a cluster.
// With one they outlive the login session, the unit or the cron job that started them, and on cgroup v2 the scope's
// cgroup is delegated: systemd leaves alone what is below it (https://systemd.io/CGROUP_DELEGATION/).
//
// Where the machine is not run by systemd there is nothing to ask for.
package systemd
