// Package session has the state that the objects and cmdlets of one run of PowerShell share: its environment, its
// folder, its streams, and the calls of Windows. It knows neither objects nor scripts.
package session
