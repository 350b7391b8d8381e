// Package hostnetworking has the cmdlets of the module HostNetworkingService, Get-ComputeProcess, and Import-Module,
// which takes that module's place.
package hostnetworking
