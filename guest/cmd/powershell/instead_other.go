//go:build !windows

package main

func instead(string) int { return 1 } // there is no other PowerShell
