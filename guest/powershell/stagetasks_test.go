package powershell

import "mullion.dev/mullion/guest/schedule"

// stageTasks returns the scheduled tasks of a Windows that has none yet, beside the folder where a script runs. Nothing
// runs them.
func stageTasks() *schedule.Store {
	return &schedule.Store{
		Tasks: "../scheduled/Tasks", State: "../scheduled/State", Ensure: func() error { return nil },
	}
}
