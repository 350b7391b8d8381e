// Command wintools is the small programs of Windows that Wine has only empty, or not at all: findstr, where, tasklist
// and others (package wintools says which). Its name says which of them it is. It is built for Windows.
package main

import (
	"os"

	"mullion.dev/mullion/internal/windows/wintools"
)

func main() {
	name := os.Args[0]
	if self, err := os.Executable(); err == nil {
		name = self
	}
	env := wintools.Env{
		Getenv: os.Getenv,
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		System: wintools.ThisSystem(),
	}
	os.Exit(env.Run(name, os.Args[1:]))
}
