// Package archive has the cmdlets for ZIP files, of the module Microsoft.PowerShell.Archive.
package archive
