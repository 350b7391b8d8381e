// Package smbshare has the cmdlets for mappings of SMB shares, of the module SmbShare.
//
// On a host each mapping is for everybody, as a global one is on Windows: those of New-SmbMapping too
// (https://learn.microsoft.com/en-us/powershell/module/smbshare).
package smbshare
