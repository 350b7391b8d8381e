// Command mullion-node is the Linux side of one Windows host, and makes Linux hosts. See package agent.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"mullion.dev/mullion/internal/node/agent"
	"mullion.dev/mullion/internal/node/linuxservices"
)

func main() {
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = agent.Run(ctx, agent.Env{
		Args:       os.Args[1:],
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Executable: executable,
	})
	stop()
	if code, ok := linuxservices.Code(err); ok {
		os.Exit(code)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "mullion-node:", err)
		os.Exit(1)
	}
}
