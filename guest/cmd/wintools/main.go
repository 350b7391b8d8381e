// Command wintools contains small programs of Windows that Wine lacks or has only in part: findstr, where, tasklist,
// nslookup, ipconfig and others (see package tools). The name of its file chooses the program. It is built for
// Windows.
package main

import (
	"os"

	"mullion.dev/mullion/guest/tools"
	"mullion.dev/mullion/guest/tools/program"
)

func main() {
	name := os.Args[0]
	if self, err := os.Executable(); err == nil {
		name = self
	}

	env := program.Env{
		Getenv:  os.Getenv,
		Environ: os.Environ,
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
	}
	os.Exit(tools.Run(env, name, os.Args[1:]))
}
