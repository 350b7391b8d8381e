// Package system is what this PowerShell asks of Windows: the Host Networking Service, access lists, processes,
// services, adapters and routes, the registry, WMI, the event log and others. Calls has them, as functions that tests
// replace. The package knows nothing of PowerShell's objects.
package system
