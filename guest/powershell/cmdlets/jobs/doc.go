// Package jobs has the cmdlets for jobs, programs beside the script, each a PowerShell of its own, and for events, whose
// actions are jobs too.
package jobs
