// Command mullion-service keeps a program of a Windows host as a service (see package keeper). It is built for Windows.
package main

import (
	"context"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/windows/wire/services"
	"mullion.dev/mullion/internal/windows/wire/services/keeper"
)

func main() {
	options, err := keeper.Parse(os.Args[1:])
	if err == nil {
		err = keeper.Run(context.Background(), services.Local(), keeper.Local(), options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mullion-service:", err)
		os.Exit(1)
	}
}
