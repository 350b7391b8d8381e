// Package jobs has the cmdlets for jobs, programs beside the script, each a PowerShell of its own, and for events.
// Their actions are jobs too.
package jobs
