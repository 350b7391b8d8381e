package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// unread ends while a thread reads the console: a "line", "keys" without lines and echo, or by
// ReadFile, as from a "file".
func unread(args []string) error {
	console := windows.Handle(os.Stdin.Fd())
	read := func() { _, _ = os.Stdin.Read(make([]byte, 100)) }
	switch args[0] {
	case "keys":
		if err := windows.SetConsoleMode(console, windows.ENABLE_VIRTUAL_TERMINAL_INPUT); err != nil {
			return err
		}
	case "file":
		read = func() { _, _ = windows.Read(console, make([]byte, 100)) }
	}

	go read()
	time.Sleep(300 * time.Millisecond) // it reads by now
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return err
	}
	fmt.Printf("mode %#x\n", mode)
	if args[0] == "keys" {
		const lines = windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_ECHO_INPUT
		return windows.SetConsoleMode(console, lines)
	}
	return nil
}
