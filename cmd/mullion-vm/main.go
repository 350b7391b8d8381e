// Command mullion-vm runs virtual machines of pods with Hyper-V isolation. On the host it is containerd's shim for
// them; in the guest it is the first process.
package main

import (
	"context"
	"log/slog"
	"os"

	"mullion.dev/mullion/internal/runtime/vm/guest"
	"mullion.dev/mullion/internal/runtime/vm/shim"
)

func main() {
	ctx := context.Background()
	if os.Getpid() == 1 && os.Args[0] == "/init" {
		log := slog.New(slog.NewTextHandler(os.Stderr, nil))
		if err := guest.Main(ctx, log); err != nil {
			log.Error("guest does not power off", "error", err)
		}
		os.Exit(1)
	}
	shim.Main(ctx)
}
