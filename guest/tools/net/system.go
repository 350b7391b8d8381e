package net

import (
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
	"mullion.dev/mullion/internal/windows/wire/localuser"
	"mullion.dev/mullion/internal/windows/wire/services"
)

// System is what net needs of Windows: the computer's name, the local groups, the services, and Wine's own net.
type System interface {
	// Name is the computer's name.
	Name() string
	Accounts
	// Services is the service control manager.
	Services() services.Manager
	// Net runs Wine's own net, for everything that net here does not do, and returns its exit code.
	Net(e program.Env, args []string) (int, error)
}

// Accounts are the files that stand in for Windows' account database.
type Accounts interface {
	// Groups is the path of the file of the local groups.
	Groups() string
	// Users is the path of the file of the local accounts.
	Users() string
	// Alone runs f while it keeps other processes from changing the groups and the accounts.
	Alone(f func() error) error
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Name implements System.
func (local) Name() string { return program.ComputerName() }

// Groups implements System.
func (local) Groups() string { return localgroup.Path }

// Users implements System.
func (local) Users() string { return localuser.Path }

// Alone implements System.
func (local) Alone(f func() error) error { return localgroup.Alone(f) }

// Services implements System.
func (local) Services() services.Manager { return services.Local() }

// Net implements System. Windows' own net hands most of its work to net1.exe too; here that is Wine's net.
func (local) Net(e program.Env, args []string) (int, error) {
	return program.RunOfWine(e, "net1.exe", args)
}
