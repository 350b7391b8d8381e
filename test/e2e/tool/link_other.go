//go:build !windows

package main

import "os"

func link(args []string) error { return os.Symlink(args[0], args[1]) }
