// Command mullion-agent makes a Windows Server a node of a Kubernetes cluster, and takes it out again. It is built for
// Windows.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"mullion.dev/mullion/internal/winserver/command"
	"mullion.dev/mullion/internal/winserver/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, command.Env{
		Out: os.Stdout, Err: os.Stderr, Args: os.Args[1:],
		Hostname: os.Hostname, Host: local.Host, Facts: local.Facts,
	})
	stop()
	os.Exit(code)
}
