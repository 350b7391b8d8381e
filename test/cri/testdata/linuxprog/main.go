// Command linuxprog is the program of a Linux container beside which Windows ones are measured: it sleeps, or ends at
// once.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		return
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}
