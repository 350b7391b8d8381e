// Package management has the cmdlets for files, the registry, processes, services and the computer: those of the
// module Microsoft.PowerShell.Management.
package management
