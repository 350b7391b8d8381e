//go:build !windows

// Package host owns what cmd.exe needs of Windows itself: starting programs, the console, and facts about the system
// and its volumes.
package host
