// Command mullion brings up Kubernetes clusters with Windows nodes on a Linux machine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"mullion.dev/mullion/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	env := cli.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Args:       os.Args[1:],
		Environ:    os.Environ(),
		Executable: executable,
		Euid:       os.Geteuid(),
		Terminal:   term.IsTerminal(int(os.Stdout.Fd())),

		NextInterrupt:    nextInterrupt,
		ReleaseInterrupt: func() { signal.Reset(os.Interrupt) },
		Exec:             syscall.Exec,
	}
	code := cli.ExitCode(cli.Run(ctx, env))
	stop()
	os.Exit(code)
}

// nextInterrupt gives a channel that is closed at the next Ctrl-C.
func nextInterrupt() <-chan struct{} {
	signals, closed := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		close(closed)
	}()
	return closed
}
