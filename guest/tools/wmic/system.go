package wmic

import "mullion.dev/mullion/guest/tools/program"

// System is what wmic needs of Windows.
type System interface {
	// Piped reports whether standard output is a pipe.
	Piped() bool
	// WMIC runs Wine's own wmic, whose output goes to e's, and returns its exit code.
	WMIC(e program.Env, args []string) (int, error)
}

// ThisSystem is the Windows that the program runs on.
func ThisSystem() System { return local{} }

type local struct{}

// WMIC implements System.
func (local) WMIC(e program.Env, args []string) (int, error) {
	return program.RunOfWine(e, `wbem\wmic1.exe`, args)
}
