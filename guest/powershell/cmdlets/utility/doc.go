// Package utility has the cmdlets that work on objects and texts: those of the modules Microsoft.PowerShell.Utility
// and Microsoft.PowerShell.Core.
package utility
