// Command powershell is powershell.exe and pwsh.exe of Windows hosts and containers: a small, checked part of
// PowerShell (see package powershell). It is built for Windows.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"

	"mullion.dev/mullion/guest/lineedit"
	"mullion.dev/mullion/guest/powershell"
)

func main() {
	newline := "\n"
	if runtime.GOOS == "windows" {
		newline = "\r\n"
	}

	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	if other := installed(self, os.Getenv); runtime.GOOS == "windows" && other != "" {
		os.Exit(instead(other))
	}

	s := powershell.Session{
		Args:    os.Args[1:],
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Self:    self,
		Newline: newline,

		Interrupts: interrupts,
	}
	if console, ok := lineedit.Open(os.Stdin, os.Stdout); ok {
		s.Console = console
	}
	os.Exit(s.Run(context.Background()))
}

// interrupts gives a channel that has a value for each Ctrl+C.
func interrupts() <-chan struct{} {
	signals, all := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for range signals {
			select {
			case all <- struct{}{}:
			default: // one is waiting already
			}
		}
	}()
	return all
}
