package wmic

import (
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/wmi"
)

// Output is what standard output is.
type Output int

// What standard output is.
const (
	Console Output = iota
	Pipe
	File
)

// System is what wmic needs of Windows.
type System interface {
	Output() Output
	// Computer is the computer's name.
	Computer() string
	// Query asks WMI.
	Query(namespace, query string) ([]wmi.Object, error)
	// WMIC runs Wine's own wmic, whose output goes to e's, and returns its exit code.
	WMIC(e program.Env, args []string) (int, error)
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// Computer implements System.
func (local) Computer() string { return program.ComputerName() }

// Query implements System.
func (local) Query(namespace, query string) ([]wmi.Object, error) { return wmi.Ask(namespace, query) }

// WMIC implements System.
func (local) WMIC(e program.Env, args []string) (int, error) {
	return program.RunOfWine(e, `wbem\wmic1.exe`, args)
}
