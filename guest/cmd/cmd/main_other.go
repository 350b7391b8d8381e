//go:build !windows

package main

func run() int { return 1 } // there is no Windows here
