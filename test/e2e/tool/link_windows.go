package main

import (
	"fmt"
	"syscall"
)

// linuxSymlink is symlink(2), called without Wine, as any program in a container can do. It is in link_windows_amd64.s.
func linuxSymlink(text, name *byte) int

// link TEXT NAME: makes a Linux link at NAME, a Linux path. Windows has no links that lead wherever TEXT may lead.
func link(args []string) error {
	text, err := syscall.BytePtrFromString(args[0])
	if err != nil {
		return err
	}
	name, err := syscall.BytePtrFromString(args[1])
	if err != nil {
		return err
	}
	if code := linuxSymlink(text, name); code < 0 {
		return fmt.Errorf("link %q to %q: %w", args[1], args[0], linuxError(-code))
	}
	return nil
}

// linuxError is an error number of Linux; on Windows, package syscall has only those of Windows.
type linuxError int

func (e linuxError) Error() string { return fmt.Sprintf("errno %d of Linux", int(e)) }
