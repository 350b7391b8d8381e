// Package diagnostics has the cmdlets for the event log: Get-WinEvent of Microsoft.PowerShell.Diagnostics, and the
// older ones.
package diagnostics
