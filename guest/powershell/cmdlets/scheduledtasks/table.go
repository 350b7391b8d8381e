// Package scheduledtasks has the cmdlets of the module ScheduledTasks. The tasks are those of package schedule, which
// runs them too; what a task asks for and is not carried out is refused by name.
package scheduledtasks

import "mullion.dev/mullion/guest/powershell/cmdlet"

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	chosen := func(name, about string, run func(c *cmdlet.Call) error) cmdlet.Cmdlet {
		return cmdlet.Cmdlet{
			Name: name, About: about, Run: run, Values: []string{"taskname", "taskpath", "inputobject"},
			Positions: []string{"taskname", "taskpath"}, Takes: "inputobject", Needs: []string{"taskname|inputobject"},
		}
	}
	all := []cmdlet.Cmdlet{
		{
			Name: "New-ScheduledTaskAction", Run: newAction, About: "the program that a task is to run",
			Values: []string{"execute", "argument", "workingdirectory", "id"}, Positions: []string{"execute", "argument", "workingdirectory"},
			Needs: []string{"execute"},
		},
		{
			Name: "New-ScheduledTaskTrigger", Run: newTrigger,
			About: "when a task is to run: once, daily, weekly, with the start of Windows, each with repetitions; -AtLogOn and -RandomDelay are refused",
			Values: []string{
				"at", "daysinterval", "weeksinterval", "daysofweek", "repetitioninterval", "repetitionduration", "randomdelay", "user",
			},
			Flags: []string{"once", "daily", "weekly", "atstartup", "atlogon"},
		},
		{
			Name: "New-ScheduledTaskPrincipal", Run: newPrincipal, About: "the account of a task, which is SYSTEM",
			Values: []string{"userid", "groupid", "logontype", "runlevel", "id"}, Positions: []string{"userid"}, Needs: []string{"userid|groupid"},
		},
		{
			Name: "New-ScheduledTaskSettingsSet", Run: newSettings,
			About:  "how a task runs; batteries, idleness and the network change nothing, as nothing says how they are",
			Values: []string{"executiontimelimit", "multipleinstances", "restartcount", "restartinterval", "priority", "compatibility"},
			Flags: []string{
				"allowstartifonbatteries", "dontstopifgoingonbatteries", "dontstoponidleend", "startwhenavailable", "hidden", "disable",
				"waketorun", "runonlyifnetworkavailable",
			},
		},
		{
			Name: "New-ScheduledTask", Run: newTask, About: "a task that is not registered yet",
			Values: []string{"action", "trigger", "principal", "settings", "description"}, Positions: []string{"action", "trigger"},
		},
		{
			Name: "Register-ScheduledTask", Run: register, About: "keeps a task, and starts the service Schedule, which runs it; as SYSTEM alone",
			Values: []string{
				"taskname", "taskpath", "action", "trigger", "principal", "settings", "description", "user", "password", "runlevel",
				"xml", "inputobject",
			},
			Flags: []string{"force"}, Positions: []string{"taskname", "taskpath"}, Takes: "inputobject", Needs: []string{"taskname"},
		},
		{
			Name: "Set-ScheduledTask", Run: set, About: "changes a task",
			Values: []string{"taskname", "taskpath", "action", "trigger", "principal", "settings", "user", "password"}, Positions: []string{"taskname", "taskpath"},
			Needs: []string{"taskname"},
		},
		{
			Name: "Get-ScheduledTask", Run: get, About: "the tasks that are registered; those that Windows itself has are not there",
			Values: []string{"taskname", "taskpath"}, Positions: []string{"taskname", "taskpath"},
		},
		chosen("Get-ScheduledTaskInfo", "when a task has run and is to run next, and how it ended", info),
		chosen("Start-ScheduledTask", "has the service Schedule run a task", start),
		chosen("Stop-ScheduledTask", "has the service Schedule end the program of a task; what that has started goes on", stop),
		chosen("Enable-ScheduledTask", "lets a task run again", switching(false)),
		chosen("Disable-ScheduledTask", "keeps a task from running", switching(true)),
		chosen("Unregister-ScheduledTask", "removes a task", unregister),
		chosen("Export-ScheduledTask", "a task as XML", export),
	}
	return all
}
