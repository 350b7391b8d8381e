package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/windows"
)

// instead runs a program with this one's command line, streams and end, and returns its exit code.
func instead(program string) int {
	// Ctrl+C and the end of the container are told to all programs: what they do to this one is for that one to say.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command(program)
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), insteadOf+"="+program)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CmdLine: syscall.EscapeArg(program) + afterProgram(windows.UTF16PtrToString(windows.GetCommandLine())),
	}

	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pwsh: run %s: %v\r\n", program, err)
		return 1
	}

	return 0
}
