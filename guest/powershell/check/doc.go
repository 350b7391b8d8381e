// Package check goes through a script without running it, and lists what it uses and is not part of Mullion's
// PowerShell.
package check
