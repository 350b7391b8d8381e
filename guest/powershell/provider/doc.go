// Package provider has the drives of PowerShell: files, keys of the registry, variables of the environment. It finds
// what a path names, and makes the objects of Get-Item of it.
package provider
