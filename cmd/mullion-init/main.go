// Command mullion-init is the first process of a Windows container. See package containerinit.
package main

import (
	"os"
	"runtime/debug"

	"mullion.dev/mullion/internal/runtime/containerinit"
)

// exitNotStarted is the exit code when the main program could not be started at all.
const exitNotStarted = 126

func main() {
	debug.SetGCPercent(20) // memory before speed: this process sleeps

	cfg, err := containerinit.Parse(os.Args[1:], os.Environ())
	if err == nil {
		var code int
		if code, err = containerinit.Run(cfg, os.Stderr); err == nil {
			os.Exit(code)
		}
	}
	_, _ = os.Stderr.WriteString("mullion-init: " + err.Error() + "\n")
	os.Exit(exitNotStarted)
}
