// Command mullion-nat is the gateway of the network of single containers: a network stack of its own, without rights,
// between their interfaces and ordinary sockets of this machine. See package gateway.
package main

import (
	"fmt"
	"os"

	"mullion.dev/mullion/internal/single/nat/gateway"
)

func main() {
	if err := gateway.Serve(); err != nil {
		fmt.Fprintln(os.Stderr, "mullion-nat:", err)
		os.Exit(1)
	}
}
