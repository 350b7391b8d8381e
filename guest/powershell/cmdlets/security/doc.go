// Package security has the cmdlets for access lists, passwords and execution policies: those of the module
// Microsoft.PowerShell.Security.
package security
