// Package systemd asks the machine's service manager for a scope for the processes of a cluster. With one they outlive
// the login session, the unit or the cron job that started them, and on cgroup v2 the scope's cgroup is delegated:
// systemd leaves alone what is below it (https://systemd.io/CGROUP_DELEGATION/).
//
// On a machine without systemd it does nothing.
package systemd
