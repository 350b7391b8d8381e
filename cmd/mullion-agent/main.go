// Command mullion-agent makes a Windows Server a node of a Kubernetes cluster, and takes it out again. It is built for
// Windows.
package main

import (
	"context"
	"fmt"
	"os"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/winserver/command"
	"mullion.dev/mullion/internal/winserver/local"
)

func main() {
	ctx, stop := interrupt.Notify(context.Background(), end)
	code := command.Run(ctx, command.Env{
		Out: os.Stdout, Err: os.Stderr, Args: os.Args[1:],
		Hostname: os.Hostname, Host: local.Host, Facts: local.Facts,
	})
	stop()
	os.Exit(code)
}

// end ends the process at a signal, whatever it waits for.
func end(s os.Signal) {
	fmt.Fprintln(os.Stderr, "mullion-agent: ended by a signal:", s)
	os.Exit(interrupt.Code(s))
}
