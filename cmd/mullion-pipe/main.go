// Command mullion-pipe carries bytes between named pipes of Windows and Unix sockets (see package piperelay). It is built
// for Windows.
package main

import (
	"context"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/windows/piperelay"
)

func main() {
	security, relays, err := piperelay.Parse(os.Args[1:])
	if err == nil {
		err = piperelay.Run(context.Background(), security, relays)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mullion-pipe:", err)
		os.Exit(1)
	}
}
