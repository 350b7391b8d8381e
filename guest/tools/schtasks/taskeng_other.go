//go:build !windows

package schtasks

import "mullion.dev/mullion/guest/tools/program"

// Engine says that there are services on Windows alone.
func Engine(e program.Env) int {
	e.Complain("services are there on Windows alone")
	return 1
}
