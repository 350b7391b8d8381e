// Command mullion brings up Kubernetes clusters with Windows nodes on a Linux machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli"
	"mullion.dev/mullion/internal/cli/exit"
)

func main() {
	ctx, stop := interrupt.Notify(context.Background(), end)
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}

	env := cli.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Program:    os.Args[0],
		Args:       os.Args[1:],
		Environ:    os.Environ(),
		Executable: executable,
		Euid:       os.Geteuid(),
		Terminal:   term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("TERM") != "dumb",

		Size:             size,
		Resized:          resized,
		Quit:             quit,
		ReleaseInterrupt: func() { signal.Reset(os.Interrupt) },
		Exec:             syscall.Exec,
	}

	if term.IsTerminal(int(os.Stdin.Fd())) {
		env.Raw = raw
	}
	code := exit.Code(cli.Run(ctx, env))
	stop()
	os.Exit(code)
}

// end ends the process at a signal, whatever it waits for.
func end(s os.Signal) {
	fmt.Fprintln(os.Stderr, "mullion: ended by a signal:", s)
	os.Exit(interrupt.Code(s))
}

// raw has the terminal pass on every key, Ctrl-C too.
func raw() (restore func(), err error) {
	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(os.Stdin.Fd()), before) }, nil // it is gone, if that fails
}

// size returns how large the terminal is, 0 where that is not known.
func size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// resized gives a channel that has something each time that the terminal's size changes, until ctx is over.
func resized(ctx context.Context) <-chan struct{} {
	signals, changed := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(signals)

		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}

			select {
			case changed <- struct{}{}:
			default: // one change is told of, and stands for both
			}
		}
	}()

	return changed
}

// quit gives a channel that the next SIGQUIT closes, until ctx is over.
func quit(ctx context.Context) <-chan struct{} {
	signals, came := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGQUIT)
	go func() {
		defer signal.Stop(signals)
		select {
		case <-ctx.Done():
		case <-signals:
			close(came)
		}
	}()
	return came
}
