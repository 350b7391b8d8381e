package schtasks

import (
	"mullion.dev/mullion/guest/schedule"
	"mullion.dev/mullion/guest/tools/program"
)

// Engine is taskeng.exe, the program of the service that runs tasks.
func Engine(e program.Env) int {
	if err := schedule.Serve(); err != nil {
		e.Complain("taskeng: %v\r\nThis is the program of a service. It is started by: net start %s", err, schedule.Service)
		return 1
	}
	return 0
}
