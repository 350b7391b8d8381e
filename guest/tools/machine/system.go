// Package machine owns the programs that show or change the state of the machine: setx, shutdown, systeminfo, tasklist,
// tzutil and w32tm.
package machine

import (
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// System is what the programs need of Windows.
type System interface {
	// Describe describes the machine.
	Describe() (Machine, error)
	Running
	Registry
	Clock
	Power
}

// Running is what runs.
type Running interface {
	// Tasks are the running processes.
	Tasks() ([]Task, error)
	// Services are the names of the running services, by the processes that they are in.
	Services() (map[uint32][]string, error)
}

// Registry holds the variables of the user's or the machine's environment.
type Registry interface {
	// SetVariable writes a variable, and tells programs with windows of it.
	SetVariable(machine bool, name, value string) error
	// Value reads a value of the registry as text; the key begins with its root, as HKEY_LOCAL_MACHINE or HKLM.
	Value(key, name string) (string, error)
}

// Clock knows the time zones.
type Clock interface {
	// Zone is the current time zone, Zones are all that there are, by ID.
	Zone(tz string) (Zone, error)
	Zones() ([]Zone, error)
	// SetZone makes a zone the current one; with winter it has one time all year.
	SetZone(id string, winter bool) error
}

// Power ends the container in which the program runs, or the host.
type Power interface {
	// MayEnd is ErrHost in a host, and another error if the user may not end the container.
	MayEnd() error
	// End ends the container's other programs, and so the container.
	End() error
	// EndHost has the host restarted or switched off after some time. The error is hostpower.ErrPending if it is to end
	// already. KeepHost takes that back; it returns false if there is nothing to be taken back.
	EndHost(restart bool, after time.Duration) error
	KeepHost() (bool, error)
}

// Task is a process.
type Task struct {
	PID, Session uint32
	Image        string
	// Memory is the size of the working set in bytes.
	Memory uint64
}

// Machine is what systeminfo prints. Sizes are in bytes.
type Machine struct {
	Host, Product, Version, Installation, Owner, ProductID, WindowsDir, SystemDir, Domain string
	Processors                                                                            []string
	Boot                                                                                  time.Time
	Memory, MemoryFree, Commit, CommitFree                                                uint64
	Adapters                                                                              []program.Adapter
}
