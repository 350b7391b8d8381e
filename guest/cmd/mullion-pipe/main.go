// Command mullion-pipe carries bytes between named pipes of Windows and Unix sockets (see package piperelay). It is
// built for Windows.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

func main() {
	// In a container the events of a stop are for its program, which may still use its pipes.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	options, err := piperelay.Parse(os.Args[1:])
	if err == nil {
		err = piperelay.Run(context.Background(), options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mullion-pipe:", err)
		os.Exit(1)
	}
}
