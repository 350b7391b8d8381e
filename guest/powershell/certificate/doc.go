// Package certificate has certificates as objects of .NET, the stores that they are in, and what a path of the drive
// Cert: names
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.security/about/about_certificate_provider).
package certificate
